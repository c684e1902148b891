#include "cli/check.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/ceiling_health.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_run.hpp"
#include "gpu/nvml_state.hpp"
#include "render/health_json.hpp"
#include "render/health_text.hpp"
#include "render/terminal.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

/// The GPU's file in configs/devices; default-constructed if the GPU is not listed. A MIG instance
/// ("NVIDIA A100-SXM4-40GB MIG 1g.5gb") uses the file of its GPU.
DeviceSpecFile listed_spec(const std::string& name) {
  const auto specs = device_specs();
  const DeviceSpecFile* found = match_device_name(specs, name.substr(0, name.find(" MIG ")));
  return found ? *found : DeviceSpecFile{};
}

/// Expected bands of the device's ceilings or, if `of_links`, of its links.
ExpectedBands bands_of(const DeviceSpecFile& listed, bool of_links) {
  ExpectedBands bands = listed.expected;
  std::erase_if(bands, [&](const auto& band) {
    return is_link_term(*find_ceiling_term(band.first)) != of_links;
  });
  return bands;
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
  if (file.links_to.empty()) {
    report.ceilings = ceiling_findings(file.measured, bands_of(listed, false), {}, listed.spec);
  } else {
    report.uuid += " to " + file.links_to;
    report.ceilings = ceiling_findings(file.measured, bands_of(listed, true), {}, listed.spec);
  }
  return report;
}

// Wrong results are a separate finding, because they are a fault at any speed.
Finding failed_rows(const CeilingsRun& run) {
  return {FindingVerdict::off,
          "results",
          counted(run.missing.size(), "row") + " did not pass",
          "",
          "wrong results, or no results",
          "run gpuexp verify ceilings to see them",
          ""};
}

HealthReport judge_run(const CeilingsRun& run, const DeviceInfo& device,
                       const DeviceState& before) {
  HealthReport report = report_of(run.file, device.spec_id);
  report.source = fmt::format("measured in {:.1f} s", run.duration_s);
  report.before = before;
  report.after = run.state;
  // The later state also lists this process, which now has a context on the GPU.
  report.after->processes = before.processes;
  report.after->process_bytes = before.process_bytes;
  report.state = state_findings(*report.after, device.spec);
  if (!run.missing.empty()) report.state.push_back(failed_rows(run));
  report.ceilings =
      ceiling_findings(run.file.measured, bands_of(listed_spec(device.spec.name), false),
                      *report.after, device.spec);
  return report;
}

void judge_links(const std::vector<LinkRun>& links, const DeviceInfo& device,
                 HealthReport& report) {
  const DeviceSpecFile listed = listed_spec(device.spec.name);
  for (const LinkRun& link : links) {
    LinkHealth health{link.peer.index,
                      link.peer.uuid,
                      link.way,
                      link_findings(link.link, link.way, listed.spec.machine),
                      {}};
    if (!link.run.missing.empty()) health.state.push_back(failed_rows(link.run));
    if (link.link.peer_access.value_or(true)) {
      health.ceilings = ceiling_findings(link.run.file.measured, bands_of(listed, true),
                                       *report.after, device.spec);
    }
    report.links.push_back(std::move(health));
  }
}

bool is_healthy(const HealthReport& report) {
  return verdict_of(report) == HealthVerdict::healthy;
}

/// Prints each report when it is added, except the JSON of several GPUs, which end() prints as one
/// array.
class Checks {
 public:
  Checks(bool json, bool several) : json_(json), several_(several) {}

  void add(const HealthReport& report) {
    if (json_ && !several_) {
      fmt::print("{}", to_json(report));
    } else if (!json_) {
      print(fmt::format("{}{}", reports_.empty() ? "" : "\n",
                        health_text(report, terminal_options(stdout).width)));
    }
    reports_.push_back(report);
  }

  void end() const {
    if (!several_) return;
    if (json_) {
      std::vector<std::string> texts;
      for (const HealthReport& report : reports_) {
        texts.push_back(to_json(report));
        texts.back().pop_back();  // its newline
      }
      fmt::print("[{}]\n", fmt::join(texts, ",\n"));
      return;
    }
    std::vector<std::string> others;
    for (const HealthReport& report : reports_) {
      if (!is_healthy(report)) others.push_back(fmt::format("{} ({})", report.uuid, report.device));
    }
    print(fmt::format("\n{} of {} GPUs are healthy{}{}\n", reports_.size() - others.size(),
                      reports_.size(),
                      others.empty() ? "" : ", these are not: ", fmt::join(others, ", ")));
  }

  ExitCode code() const {
    return std::ranges::all_of(reports_, is_healthy) ? ExitCode::ok : ExitCode::regressed;
  }

 private:
  static void print(const std::string& text) {
    fmt::print("{}", terminal_options(stdout).unicode ? text : to_ascii(text));
  }

  bool json_;
  bool several_;
  std::vector<HealthReport> reports_;
};

ExitCode check_device(const Context& context, const CheckOptions& options, int index,
                      Checks& checks) {
  const auto uuid = device_uuid(index);
  const DeviceState before = uuid ? read_device_state(*uuid) : DeviceState{};
  auto device = open_to_measure(index);
  if (!device) return ExitCode::no_device;
  const fs::path path = options.keep ? ceilings_output(options.out, device->info) : fs::path();
  catch_interrupts();
  const CeilingsRun run = run_ceilings(context, *device);
  report_missing(run);
  if (run.code == ExitCode::interrupted) return run.code;
  HealthReport report = judge_run(run, device->info, before);
  device->executor.reset();  // frees the GPU, which measure_links() opens again
  // If all devices are checked, each pair of devices is measured once.
  const auto links =
      measure_links(context, device->info, options.device ? 0 : device->info.index + 1);
  if (interrupted()) return ExitCode::interrupted;
  judge_links(links, device->info, report);
  checks.add(report);
  if (options.keep) {
    keep_ceilings(run, path);
    keep_links(links, device->info.uuid);
  }
  return run.code;
}

}  // namespace

ExitCode check(const Context& context, const CheckOptions& options) {
  Checks checks(options.json, options.from.size() > 1 || !options.device);
  for (const std::string& file : options.from)
    checks.add(judge_file(file));
  const int first = options.device.value_or(0);
  const int end = options.from.empty() ? (options.device ? first + 1 : device_count()) : first;
  ExitCode rows = ExitCode::ok;
  for (int index = first; index < end; ++index) {
    const ExitCode code = check_device(context, options, index, checks);
    if (code == ExitCode::interrupted || code == ExitCode::no_device) return code;
    if (rows == ExitCode::ok) rows = code;
  }
  checks.end();
  return rows == ExitCode::ok ? checks.code() : rows;
}

}  // namespace gpuexp::cli
