#include "cli/check.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "analysis/figure_health.hpp"
#include "base/text.hpp"
#include "cli/ceilings_run.hpp"
#include "cli/interrupts.hpp"
#include "gpu/nvml_state.hpp"
#include "render/health_json.hpp"
#include "render/health_text.hpp"
#include "render/terminal.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

/// What configs/devices knows of a GPU; the spec alone is empty for one that is not listed. Of a
/// MIG instance ("NVIDIA A100-SXM4-40GB MIG 1g.5gb") it is that of the whole GPU.
DeviceSpecFile listed_spec(const std::string& name) {
  const auto specs = device_specs();
  const DeviceSpecFile* found = match_device_name(specs, name.substr(0, name.find(" MIG ")));
  return found ? *found : DeviceSpecFile{};
}

HealthReport report_of(const CeilingsFile& file, const std::string& spec_id) {
  HealthReport report;
  report.device = file.device;
  report.uuid = file.conditions.uuid;
  report.spec_id = spec_id;
  report.utc = file.utc;
  report.git_commit = file.git_commit;
  return report;
}

HealthReport judge_file(const std::string& path) {
  const CeilingsFile file = read_ceilings_file(path);
  const DeviceSpecFile listed = listed_spec(file.device);
  HealthReport report = report_of(file, listed.spec.id);
  report.source = fmt::format("measured at {}, in {}", file.utc, path);
  report.figures = figure_findings(file.measured, listed.expected, {}, listed.spec);
  return report;
}

// Rows that came to nothing are no matter of bands: a GPU that computes wrong results has failed
// whatever its speed.
Finding rows_that_failed(const CeilingsRun& run) {
  return {FindingVerdict::off,
          "results",
          fmt::format("{} {} not pass", run.missing.size(),
                      run.missing.size() == 1 ? "row did" : "rows did"),
          "",
          "results that are wrong, or none at all",
          "gpuexp verify ceilings shows them again",
          ""};
}

HealthReport judge_run(const CeilingsRun& run, const DeviceInfo& device,
                       const DeviceState& before) {
  HealthReport report = report_of(run.file, device.spec_id);
  report.source = fmt::format("measured in {:.1f} s", run.took_s);
  report.before = before;
  report.after = run.state;
  // This process has a context on the GPU by now.
  report.after->processes = before.processes;
  report.after->process_bytes = before.process_bytes;
  report.state = state_findings(*report.after, device.spec);
  if (!run.missing.empty()) report.state.push_back(rows_that_failed(run));
  report.figures = figure_findings(run.file.measured, listed_spec(device.spec.name).expected,
                                   *report.after, device.spec);
  return report;
}

ExitCode show(const HealthReport& report, bool json) {
  if (json) {
    fmt::print("{}", to_json(report));
  } else {
    const TerminalOptions terminal = terminal_options(stdout);
    const std::string text = health_text(report, terminal.width);
    fmt::print("{}", terminal.unicode ? text : to_ascii(text));
  }
  return verdict_of(report) == HealthVerdict::healthy ? ExitCode::ok : ExitCode::regressed;
}

}  // namespace

ExitCode check(const Context& context, const CheckOptions& options) {
  if (options.from) return show(judge_file(*options.from), options.json);
  const auto uuid = device_uuid(options.device);
  const DeviceState before = uuid ? read_device_state(*uuid) : DeviceState{};
  auto device = open_to_measure(options.device);
  if (!device) return ExitCode::no_device;
  const fs::path path = options.keep ? ceilings_output(options.out, device->info) : fs::path();
  catch_interrupts();
  const CeilingsRun run = run_ceilings(context, *device);
  report_missing(run);
  if (run.code == ExitCode::interrupted) return run.code;
  const ExitCode verdict = show(judge_run(run, device->info, before), options.json);
  if (options.keep) keep_ceilings(run, path);
  return run.code == ExitCode::ok ? verdict : run.code;
}

}  // namespace gpuexp::cli
