#include "cli/measure.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "build_info.hpp"
#include "cli/basis.hpp"
#include "cli/interrupts.hpp"
#include "cli/provenance.hpp"
#include "cli/recorder.hpp"
#include "cli/worker.hpp"
#include "core/ceilings_file.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "report/ceilings.hpp"
#include "report/output.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

/// Where the file goes; it can be written before anything is measured.
fs::path output_path(const MeasureOptions& options, const DeviceInfo& device) {
  fs::path path = options.out;
  if (path.empty()) {
    const auto kept = kept_ceilings(device.uuid);
    if (!kept)
      throw ConfigError(
          "no place to keep ceilings in: set GPUEXP_DATA_DIR, or name a file by --out");
    fs::create_directories(kept->parent_path());
    path = *kept;
  }
  check_writable(path);
  return path;
}

struct Outcome {
  CeilingsFile file;
  std::vector<VendorCall> vendor;
  ExitCode code = ExitCode::ok;
  std::vector<std::string> missing;  ///< rows that should have passed, and why they did not
};

std::string commit() {
  return fmt::format("{}{}", build_info::git_commit, build_info::git_dirty ? "-dirty" : "");
}

std::vector<std::string> missing_rows(const Report& report) {
  const auto text = [&](const std::vector<Field>& row, const char* column) {
    const auto* found = std::get_if<std::string>(&row[*report.table.column(column)]);
    return found ? *found : std::string();
  };
  std::vector<std::string> missing;
  for (const std::vector<Field>& row : report.table.rows) {
    const std::string status = text(row, "status");
    if (status == name_of(Status::passed) || status == name_of(Status::skipped)) continue;
    missing.push_back(fmt::format("{}: {}: {}", text(row, "key"), status, text(row, "reason")));
  }
  return missing;
}

Outcome run_config(const Context& context, OpenDevice& device) {
  const Config config = read_config(find_config("ceilings"), context.registry, {});
  Plan plan = make_plan(config, device.info.spec, context.resources, device.info.free_bytes);
  plan.basis = basis_of(device.info);
  Recorder recorder(plan, context.resources, RunKind::measure, false);
  const NvmlSampler nvml(device.info.uuid);
  RunOptions options;
  options.seed = config.seed;
  options.interrupted = interrupted;
  options.counters = false;
  options.telemetry = [&](double from_s, double to_s) { return nvml.between(from_s, to_s); };
  const auto tracer = make_nvtx_tracer();
  Outcome outcome;
  outcome.file.utc = utc("%Y-%m-%dT%H:%M:%SZ", std::time(nullptr));
  run_plan(plan, context.resources, *device.executor, *tracer, recorder, options);
  const Report report = recorder.finish({}, !interrupted());
  outcome.file.device = device.info.spec.name;
  outcome.file.conditions = conditions_of(device.info);
  outcome.file.git_commit = commit();
  outcome.file.measured = measured_ceilings(report.table, recorder.floors_us(), device.info.spec);
  outcome.vendor = vendor_calls(report.table);
  outcome.code = exit_code_of(report);
  outcome.missing = missing_rows(report);
  return outcome;
}

}  // namespace

ExitCode measure(const Context& context, const MeasureOptions& options) {
  DeviceOptions device_options;
  device_options.device = options.device;
  make_room_for_watcher(device_options, false);
  std::string no_device;
  auto device = open_device(device_options, no_device);
  if (!device) {
    fmt::print("no GPU: {}\n", no_device);
    return ExitCode::no_device;
  }
  const fs::path path = output_path(options, device->info);
  catch_interrupts();
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_config(context, *device);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (const std::string& row : outcome.missing)
    fmt::print(stderr, "gpuexp: {}\n", row);
  if (outcome.code == ExitCode::interrupted) {
    fmt::print(stderr, "gpuexp: interrupted; nothing is written\n");
    return outcome.code;
  }
  const MeasuredCeilings& measured = outcome.file.measured;
  const DeviceInfo& info = device->info;
  const std::string text =
      fmt::format("device {}: {}  ({}), measured in {:.1f} s\n\n{}", info.index, info.spec.name,
                  info.uuid, took.count(), ceilings_text(measured, outcome.vendor, info.spec));
  fmt::print("{}", terminal_options(stdout).unicode ? text : to_ascii(text));
  if (measured.empty()) {
    fmt::print(stderr, "gpuexp: nothing was measured, and nothing is written\n");
    return outcome.code;
  }
  write_file_atomically(path, to_json(outcome.file));
  fmt::print(stderr, "ceilings are in {}\n", path.string());
  return outcome.code;
}

}  // namespace gpuexp::cli
