#include "cli/ceilings_run.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "analysis/measured_ceilings.hpp"
#include "base/output.hpp"
#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/provenance.hpp"
#include "cli/recorder.hpp"
#include "config/config_reader.hpp"
#include "gpu/nvml_sampler.hpp"
#include "gpu/nvml_state.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "run/runner.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

std::string commit() {
  return fmt::format("{}{}", build_info::git_commit, build_info::git_dirty ? "-dirty" : "");
}

std::vector<std::string> missing_rows(const Report& report) {
  std::vector<std::string> missing;
  for (const ResultRecord& row : report.table.rows) {
    if (row.passed() || row.status == Status::skipped) continue;
    missing.push_back(fmt::format("{}: {}: {}", row.key, status_text(row), row.reason));
  }
  return missing;
}

}  // namespace

CeilingsRun run_ceilings(const Context& context, OpenDevice& device, const std::string& name) {
  const auto start = std::chrono::steady_clock::now();
  const Config config = read_config(find_config(name), context.registry, {});
  Plan plan = make_plan(config, device.info.spec, context.resources, device.info.free_bytes);
  plan.ceiling_source = ceiling_source_of(device.info);
  Recorder recorder(plan, context.resources, RunKind::measure, false);
  const NvmlSampler nvml(device.info.uuid);
  RunOptions options;
  options.seed = config.seed;
  options.interrupted = interrupted;
  options.counters = false;
  options.telemetry = [&](double from_s, double to_s) { return nvml.between(from_s, to_s); };
  const auto tracer = make_nvtx_tracer();
  CeilingsRun run;
  run.file.utc = utc_text(std::time(nullptr));
  run_plan(plan, context.resources, *device.executor, *tracer, recorder, options);
  run.state = read_device_state(device.info.uuid);
  const Report report = recorder.finish({}, !interrupted());
  run.file.device = device.info.spec.name;
  run.file.conditions = conditions_of(device.info);
  run.file.git_commit = commit();
  run.file.measured =
      measured_ceilings(report.table, recorder.floors_us(), device.info.spec, context.registry);
  run.vendor = vendor_calls(report.table, device.info.spec, context.registry);
  run.state.load = load_readings(report.table);
  run.code = exit_code_of(report);
  run.missing = missing_rows(report);
  run.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

std::optional<OpenDevice> open_to_measure(int device, std::optional<int> peer) {
  DeviceOptions options;
  options.device = device;
  options.peer = peer;
  adapt_to_attached_tool(options, peer.has_value(), false);
  std::string no_device;
  auto opened = open_device(options, no_device);
  if (!opened) fmt::print(stderr, "gpuexp: no GPU: {}\n", no_device);
  return opened;
}

fs::path ceilings_output(const std::string& out, const DeviceInfo& device) {
  fs::path path = out;
  if (path.empty()) {
    const auto kept = ceilings_path(device.uuid);
    if (!kept)
      throw ConfigError(
          "no folder for measured ceilings was found: set GPUEXP_DATA_DIR, or name a file with "
          "--out");
    create_folder(kept->parent_path());
    path = *kept;
  }
  check_writable(path);
  return path;
}

void keep_ceilings(const CeilingsRun& run, const fs::path& path) {
  if (run.file.measured.empty()) {
    fmt::print(stderr, "gpuexp: nothing was measured, and no file was written\n");
    return;
  }
  create_folder(path.parent_path().empty() ? "." : path.parent_path());
  write_file_atomically(path, to_json(run.file));
  std::fflush(stdout);
  fmt::print(stderr, "ceilings are in {}\n", path.string());
}

void report_missing(const CeilingsRun& run) {
  if (run.code == ExitCode::interrupted) {
    fmt::print(stderr, "gpuexp: interrupted; no file was written\n");
    return;
  }
  for (const std::string& row : run.missing)
    fmt::print(stderr, "gpuexp: {}\n", row);
}

Topology topology_here() {
  const auto specs = device_specs();
  std::vector<GpuPlace> places;
  for (int i = 0; i < device_count(); ++i) {
    const DeviceInfo device = query_device(i, specs);
    places.push_back({i, device.spec.name, device.uuid, device.pci_bus_id, {}, {}, {}});
  }
  return read_topology(std::move(places));
}

std::vector<LinkRun> measure_links(const Context& context, const DeviceInfo& device,
                                   int first_peer) {
  std::vector<LinkRun> links;
  if (device_count() < 2) return links;
  const Topology topology = topology_here();
  const auto own = static_cast<std::size_t>(device.index);
  for (int peer = first_peer; peer < device_count() && !interrupted(); ++peer) {
    if (peer == device.index) continue;
    const auto other = static_cast<std::size_t>(peer);
    LinkRun link;
    link.peer = query_device(peer, device_specs());
    link.link = topology.links[own][other];
    link.way = text_of(topology, own, other);
    if (link.link.peer_access.value_or(true)) {
      auto pair = open_to_measure(device.index, peer);
      if (!pair) continue;
      link.run = run_ceilings(context, *pair, "links");
      link.run.file.links_to = link.peer.uuid;
      std::erase_if(link.run.file.measured, [](const auto& ceiling) {
        return !is_link_term(*find_ceiling_term(ceiling.first));
      });
      report_missing(link.run);
    }
    links.push_back(std::move(link));
  }
  return links;
}

void keep_links(const std::vector<LinkRun>& links, const std::string& uuid) {
  for (const LinkRun& link : links) {
    if (link.run.file.measured.empty()) continue;
    const auto path = link_ceilings_path(uuid, link.peer.uuid);
    if (path) keep_ceilings(link.run, *path);
  }
}

}  // namespace gpuexp::cli
