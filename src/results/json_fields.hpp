// Member names and schema version of a report's JSON, shared by writer, reader and schema.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/json.hpp"
#include "base/json_schema_parts.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Readers reject other versions.
inline constexpr int kReportSchemaVersion = 3;

/// Member of a row with the row's raw samples; no column may have this name.
inline constexpr std::string_view kSamplesMember = "samples_us";

// Optional members of a provenance.
inline constexpr const char* kCeilingsMember = "ceilings";  ///< absent if the run has no ceilings
inline constexpr const char* kPartsMember = "parts";        ///< absent if the report is not merged
inline constexpr const char* kRanksMember = "ranks";        ///< absent if no problem spans GPUs
inline constexpr const char* kInputsMember = "inputs";  ///< absent if no file was read
/// Members of a provenance or its device that are absent, instead of null, if unknown.
inline constexpr std::array<std::string_view, 6> kLaterMembers{
    "shard", "executed_on", "pcie_generation", "pcie_width", "numa_node", "process_numa_nodes"};

/// Members of a report, present if hardware counters were requested.
inline constexpr std::string_view kKernelColumnsMember = "kernel_columns";
inline constexpr std::string_view kKernelsMember = "kernels";

/// Member of a report whose config has published figures.
inline constexpr std::string_view kFiguresMember = "figures";

/// Members of a report whose run recorded its times.
inline constexpr const char* kTimesMember = "times_s";
inline constexpr const char* kGroupTimesMember = "group_times";

template <class T, class Struct>
concept MaybeConst = std::is_same_v<std::remove_const_t<T>, Struct>;

// visit_members() calls visit(name, member, doc) for each member that is a string, a number or a
// boolean, optional or not, in the order of the file.

template <MaybeConst<DeviceProvenance> T, class Visit>
void visit_members(T& device, const Visit& visit) {
  visit("name", device.name, "name that the driver reports");
  visit("executed_on", device.executed_on,
        "gpu or simulated; simulated runs execute on the CPU and have no times");
  visit("uuid", device.uuid, "UUID of the GPU or of its MIG instance");
  visit("pci_bus_id", device.pci_bus_id, "PCI bus id of the GPU");
  visit("compute_capability", device.compute_capability, "compute capability, such as 9.0");
  visit("sm_count", device.sm_count, "number of streaming multiprocessors");
  visit("driver_version", device.driver_version, "version of the driver's kernel module");
  visit("runtime_version", device.runtime_version, "version of the CUDA runtime");
  visit("sm_clock_mhz", device.sm_clock_mhz, "SM clock at the start of the run (MHz)");
  visit("sm_clock_max_mhz", device.sm_clock_max_mhz, "maximum SM clock of the device (MHz)");
  visit("memory_clock_mhz", device.memory_clock_mhz, "memory clock at the start of the run (MHz)");
  visit("power_limit_w", device.power_limit_w, "power limit at the start of the run (W)");
  visit("temperature_c", device.temperature_c, "GPU temperature at the start of the run (°C)");
  visit("ecc_enabled", device.ecc_enabled, "whether memory is protected by error-correcting codes");
  visit("memory_total_bytes", device.memory_total_bytes, "total device memory (B)");
  visit("memory_bytes_per_s", device.memory_bytes_per_s, "theoretical memory bandwidth (B/s)");
  visit("memory_free_bytes", device.memory_free_bytes,
        "free device memory at the start of the run (B)");
  visit("pcie_generation", device.pcie_generation,
        "PCIe generation of the link to the host at the start of the run");
  visit("pcie_width", device.pcie_width, "number of PCIe lanes of the link to the host");
  visit("numa_node", device.numa_node, "NUMA node of the host that the GPU is attached to");
  visit("process_numa_nodes", device.process_numa_nodes,
        "NUMA nodes of the host whose processors the run could use");
}

template <MaybeConst<CeilingProvenance> T, class Visit>
void visit_members(T& ceiling, const Visit& visit) {
  visit("unit", ceiling.unit, "unit of the numbers");
  visit("value", ceiling.value,
        "measured ceiling that limits and predictions use; null if only the datasheet has a value");
  visit(
      "low", ceiling.low,
      "lower end of the 95 % interval of the value; null if the value was scaled from another GPU");
  visit(
      "high", ceiling.high,
      "upper end of the 95 % interval of the value; null if the value was scaled from another GPU");
  visit("from", ceiling.from, "key of the row in which the value was measured");
  visit("datasheet", ceiling.datasheet, "value in the datasheet; null if the datasheet has none");
}

template <MaybeConst<ConfigProvenance> T, class Visit>
void visit_members(T& config, const Visit& visit) {
  visit("path", config.path, "path as given");
  visit("name", config.name, "the config's own name");
  visit("sha256", config.sha256, "SHA-256 of the text, hexadecimal");
  visit("text", config.text, "bytes of the file");
}

template <MaybeConst<InputProvenance> T, class Visit>
void visit_members(T& input, const Visit& visit) {
  visit("file", input.file, "name as in the config");
  visit("path", input.path, "absolute path");
  visit("bytes", input.bytes, "size of the file");
  visit("sha256", input.sha256, "SHA-256 of the file's bytes, hexadecimal");
  visit("text", input.text, "source text of kernels; null for other files and with --no-source");
}

template <MaybeConst<Provenance> T, class Visit>
void visit_members(T& run, const Visit& visit) {
  visit("gpuexp_version", run.gpuexp_version, "version of gpuexp that wrote the file");
  visit("git_commit", run.git_commit, "commit that the program was built from");
  visit("git_dirty", run.git_dirty,
        "whether the program was built from a tree with uncommitted changes");
  visit("compiler", run.compiler, "compiler of the host code");
  visit("cuda_toolkit", run.cuda_toolkit, "version of nvcc");
  visit("utc", run.utc, "start of the run, ISO 8601");
  visit("host", run.host, "name of the machine");
  visit("shard", run.shard, "shard of the run, such as 2/4; absent for a whole run");
}

template <MaybeConst<PartProvenance> T, class Visit>
void visit_members(T& part, const Visit& visit) {
  visit("shard", part.shard, "shard of the run, such as 2/4; absent for a whole run");
  visit("utc", part.utc, "start of the run, ISO 8601");
  visit("host", part.host, "name of the machine");
  visit("gpu_uuid", part.gpu_uuid, "UUID of the GPU; null if the run was simulated");
  visit("gpu", part.gpu, "name of the GPU");
  visit("rows", part.rows, "number of rows from this run");
}

template <MaybeConst<RankProvenance> T, class Visit>
void visit_members(T& rank, const Visit& visit) {
  visit("rank", rank.rank, "rank, counted from 0");
  visit("host", rank.host, "name of the machine");
  visit("gpu", rank.gpu, "name of the GPU");
  visit("gpu_uuid", rank.gpu_uuid, "UUID of the rank's GPU");
  visit("pci_bus_id", rank.pci_bus_id, "PCI bus id of the GPU");
  visit("numa_node", rank.numa_node, "NUMA node of the host that the GPU is attached to");
  visit("processors", rank.processors,
        "host processors that the rank's process could use: of the processors it was given, those "
        "next to the GPU");
}

template <MaybeConst<FigureSource> T, class Visit>
void visit_members(T& source, const Visit& visit) {
  visit("author", source.author, "author of the publication");
  visit("title", source.title, "title of the paper, page or talk");
  visit("year", source.year, "year of publication");
  visit("address", source.address, "address of the page");
  visit("place", source.place, "figure, table or section with the numbers");
}

template <MaybeConst<PublishedFigure> T, class Visit>
void visit_members(T& figure, const Visit& visit) {
  visit("title", figure.title, "title of the figure");
  visit("published_on", figure.published_on,
        "GPU that the numbers were published for, as named by the source");
  visit("device", figure.device, "device spec of that GPU; empty if it has none");
}

template <MaybeConst<Claim> T, class Visit>
void visit_members(T& claim, const Visit& visit) {
  visit("name", claim.name, "quantity that the number measures");
  visit("unit", claim.unit, "unit of all numbers of the claim");
  visit("published", claim.published, "the published number");
  visit("scale", claim.quantity.scale, "number of column units in one unit of the claim");
  visit(
      "band_low", claim.band_low,
      "minimum ratio of the value to the expected value at which the number counts as reproduced");
  visit(
      "band_high", claim.band_high,
      "maximum ratio of the value to the expected value at which the number counts as reproduced");
  visit("because", claim.because, "reason for the width of the band");
  visit("expectation", claim.expectation, "reason why a GPU is expected to differ; may be empty");
  visit("model_here", claim.model.here,
        "quantity that the model predicts for this device; null if it predicts none");
  visit("model_published", claim.model.published,
        "quantity that the model predicts for the device of the source; null if it predicts none");
  visit("why_no_model", claim.model.why_not,
        "reason why model_here or model_published is null; may be empty");
  visit("bound_by", claim.model.bound_by,
        "resource with the longest predicted time in the last row; may be empty");
}

template <MaybeConst<ClaimedRow> T, class Visit>
void visit_members(T& row, const Visit& visit) {
  visit("experiment", row.experiment, "experiment of the row");
  visit("variant", row.variant, "variant of the row");
  visit("mode", row.mode, "mode of the row");
  visit("times", row.times, "number of times the row is added");
}

template <MaybeConst<RunTimes> T, class Visit>
void visit_members(T& times, const Visit& visit) {
  for (const RunTimesMember& member : kRunTimesMembers)
    visit(member.name, times.*member.seconds, member.doc);
}

template <MaybeConst<GroupTimes> T, class Visit>
void visit_members(T& group, const Visit& visit) {
  visit("experiment", group.experiment, "experiment of the row");
  visit("parameters", group.parameters,
        "parameters of the group's problem, such as m=64,n=64,k=64");
  visit("mode", group.mode, "mode of the row");
  visit("began_s", group.began_s,
        "seconds from the start or the resumption of the run to the start of the group");
}

/// The members as a JSON object. A missing value is null, or absent if listed in kLaterMembers.
template <class T>
Json json_of_members(const T& of) {
  Json json = Json::object();
  visit_members(of, [&](const char* name, const auto& member, const char*) {
    Json value = member;
    const bool is_later =
        std::find(kLaterMembers.begin(), kLaterMembers.end(), name) != kLaterMembers.end();
    if (!value.is_null() || !is_later) json[name] = std::move(value);
  });
  return json;
}

template <class T>
Json json_type_of(const T&) {
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, bool>) return "boolean";
  return std::is_same_v<T, std::int64_t> ? "integer" : "number";
}
template <class T>
Json json_type_of(const std::optional<T>&) {
  return Json::array({json_type_of(T{}), "null"});
}

/// The JSON schemas of the members.
template <class T>
Json schemas_of_members() {
  Json properties = Json::object();
  const T example;
  visit_members(example, [&](const char* name, const auto& member, const char* doc) {
    properties[name] = json_schema::described(doc, {{"type", json_type_of(member)}});
  });
  return properties;
}

}  // namespace gpuexp
