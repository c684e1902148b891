// What the writer and the reader of a report's JSON and its schema share: the version, and the
// members of its provenance, each named once.
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

/// Results of other versions are refused.
inline constexpr int kReportSchemaVersion = 3;

/// Member of a row that holds its raw samples; no column may be called so.
inline constexpr std::string_view kSamplesMember = "samples_us";

/// Member of a provenance; absent where predictions rest on none.
inline constexpr const char* kCeilingsMember = "ceilings";
/// Likewise, of merged results alone.
inline constexpr const char* kPartsMember = "parts";
/// Likewise, where problems spanned GPUs.
inline constexpr const char* kRanksMember = "ranks";
/// Likewise, where inputs were read from files.
inline constexpr const char* kInputsMember = "inputs";
/// Likewise, of it and of its device: absent where they are not known.
inline constexpr std::array<std::string_view, 6> kLaterMembers{
    "shard", "executed_on", "pcie_generation", "pcie_width", "numa_node", "process_numa_nodes"};

/// Members of a report whose run read hardware counters.
inline constexpr std::string_view kKernelColumnsMember = "kernel_columns";
inline constexpr std::string_view kKernelsMember = "kernels";

/// Member of a report whose config has published figures.
inline constexpr std::string_view kFiguresMember = "figures";

/// Members of a report whose run recorded where its time went.
inline constexpr const char* kTimesMember = "times_s";
inline constexpr const char* kGroupTimesMember = "group_times";

template <class T, class Struct>
concept MaybeConst = std::is_same_v<std::remove_const_t<T>, Struct>;

// Calls visit(name, member, doc) for each member that is a text, a number or a truth value, or may
// be missing, in the order of the file.

template <MaybeConst<DeviceProvenance> T, class Visit>
void visit_members(T& device, const Visit& visit) {
  visit("name", device.name, "as the driver reports it");
  visit("executed_on", device.executed_on,
        "gpu, or simulated: by the CPU, which measures no times");
  visit("uuid", device.uuid, "of the GPU, or of its MIG instance");
  visit("pci_bus_id", device.pci_bus_id, "its place in the machine");
  visit("compute_capability", device.compute_capability, "such as 9.0");
  visit("sm_count", device.sm_count, "streaming multiprocessors");
  visit("driver_version", device.driver_version, "of the kernel module");
  visit("runtime_version", device.runtime_version, "of the CUDA runtime");
  visit("sm_clock_mhz", device.sm_clock_mhz, "at the start of the run");
  visit("sm_clock_max_mhz", device.sm_clock_max_mhz, "the highest that the device allows");
  visit("memory_clock_mhz", device.memory_clock_mhz, "at the start of the run");
  visit("power_limit_w", device.power_limit_w, "in force at the start of the run");
  visit("temperature_c", device.temperature_c, "at the start of the run");
  visit("ecc_enabled", device.ecc_enabled, "whether memory is protected by error-correcting codes");
  visit("memory_total_bytes", device.memory_total_bytes, "of the device");
  visit("memory_bytes_per_s", device.memory_bytes_per_s, "theoretical bandwidth of its memory");
  visit("memory_free_bytes", device.memory_free_bytes, "at the start of the run");
  visit("pcie_generation", device.pcie_generation,
        "of its link to the host, at the start of the run");
  visit("pcie_width", device.pcie_width, "lanes of that link");
  visit("numa_node", device.numa_node, "of the host, that it is next to");
  visit("process_numa_nodes", device.process_numa_nodes,
        "nodes of the host whose processors the run could use");
}

template <MaybeConst<CeilingProvenance> T, class Visit>
void visit_members(T& ceiling, const Visit& visit) {
  visit("unit", ceiling.unit, "of the numbers");
  visit("value", ceiling.value,
        "that limits and predictions were made from; null where only the datasheet has one");
  visit("low", ceiling.low,
        "lower end of its 95 % interval; null where it was scaled from another GPU's");
  visit("high", ceiling.high, "upper end of it");
  visit("from", ceiling.from, "key of the row that it was measured in");
  visit("datasheet", ceiling.datasheet, "null where the datasheet has none");
}

template <MaybeConst<ConfigProvenance> T, class Visit>
void visit_members(T& config, const Visit& visit) {
  visit("path", config.path, "as given");
  visit("name", config.name, "the config's own name");
  visit("sha256", config.sha256, "of the text, hexadecimal");
  visit("text", config.text, "the file's bytes");
}

template <MaybeConst<InputProvenance> T, class Visit>
void visit_members(T& input, const Visit& visit) {
  visit("file", input.file, "name as in the config");
  visit("path", input.path, "absolute path");
  visit("bytes", input.bytes, "size of the file");
  visit("sha256", input.sha256, "of the file's bytes, hexadecimal");
}

template <MaybeConst<Provenance> T, class Visit>
void visit_members(T& run, const Visit& visit) {
  visit("gpuexp_version", run.gpuexp_version, "of the program that wrote this");
  visit("git_commit", run.git_commit, "that it was built from");
  visit("git_dirty", run.git_dirty, "built from a tree with uncommitted changes");
  visit("compiler", run.compiler, "of the host code");
  visit("cuda_toolkit", run.cuda_toolkit, "version of nvcc");
  visit("utc", run.utc, "start of the run, ISO 8601");
  visit("host", run.host, "name of the machine");
  visit("shard", run.shard, "part of the run that this is, such as 2/4; absent where it is all");
}

template <MaybeConst<PartProvenance> T, class Visit>
void visit_members(T& part, const Visit& visit) {
  visit("shard", part.shard, "absent where it was a whole run");
  visit("utc", part.utc, "its start, ISO 8601");
  visit("host", part.host, "name of its machine");
  visit("gpu_uuid", part.gpu_uuid, "of its GPU; null where it was simulated");
  visit("gpu", part.gpu, "the GPU's name");
  visit("rows", part.rows, "how many of the rows are its");
}

template <MaybeConst<RankProvenance> T, class Visit>
void visit_members(T& rank, const Visit& visit) {
  visit("rank", rank.rank, "from 0");
  visit("host", rank.host, "name of its machine");
  visit("gpu", rank.gpu, "the GPU's name");
  visit("gpu_uuid", rank.gpu_uuid, "of its GPU");
  visit("pci_bus_id", rank.pci_bus_id, "the GPU's place in the machine");
  visit("numa_node", rank.numa_node, "of the host, that its GPU is next to");
  visit("processors", rank.processors,
        "of the host, that its process could use: those next to the GPU, of the ones that it was "
        "given");
}

template <MaybeConst<FigureSource> T, class Visit>
void visit_members(T& source, const Visit& visit) {
  visit("author", source.author, "who published it");
  visit("title", source.title, "of the paper, page or talk");
  visit("year", source.year, "of publication");
  visit("address", source.address, "of the page");
  visit("place", source.place, "figure, table or section that has the numbers");
}

template <MaybeConst<PublishedFigure> T, class Visit>
void visit_members(T& figure, const Visit& visit) {
  visit("title", figure.title, "what there is to see");
  visit("published_on", figure.published_on, "the GPU, as the source has it");
  visit("device", figure.device, "its device spec; empty where it has none");
}

template <MaybeConst<Claim> T, class Visit>
void visit_members(T& claim, const Visit& visit) {
  visit("name", claim.name, "what the number is of");
  visit("unit", claim.unit, "of the number, and of all others of the claim");
  visit("published", claim.published, "the published number");
  visit("scale", claim.quantity.scale, "units of the columns in one of the claim's");
  visit("band_low", claim.band_low,
        "least quotient of the value over what is expected at which it counts as reproduced");
  visit("band_high", claim.band_high, "the largest");
  visit("because", claim.because, "why the band is as wide");
  visit("expectation", claim.expectation, "why a GPU may be known to differ; may be empty");
  visit("model_here", claim.model.here,
        "the same quantity by the model, on this device; null where it has none");
  visit("model_published", claim.model.published, "likewise, on the device of the source");
  visit("why_no_model", claim.model.why_not, "why one of the two is null; may be empty");
  visit("bound_by", claim.model.bound_by,
        "what takes longest in the last of the rows, by the model; may be empty");
}

template <MaybeConst<ClaimedRow> T, class Visit>
void visit_members(T& row, const Visit& visit) {
  visit("experiment", row.experiment, "its experiment");
  visit("variant", row.variant, "its variant");
  visit("mode", row.mode, "its mode");
  visit("times", row.times, "how often it is added");
}

template <MaybeConst<RunTimes> T, class Visit>
void visit_members(T& times, const Visit& visit) {
  for (const RunTimesMember& member : kRunTimesMembers)
    visit(member.name, times.*member.seconds, member.doc);
}

template <MaybeConst<GroupTimes> T, class Visit>
void visit_members(T& group, const Visit& visit) {
  visit("experiment", group.experiment, "its experiment");
  visit("parameters", group.parameters, "its problem, such as m=64,n=64,k=64");
  visit("mode", group.mode, "its mode");
  visit("began_s", group.began_s, "after the run began, or after it was resumed");
}

/// These members as an object: null where they are missing, and absent if kLaterMembers has them.
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

/// The schemas of these members.
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
