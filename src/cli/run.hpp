// A run of configs: what `run`, `verify` and `tune` do with a device.
#pragma once

#include <functional>
#include <string>

#include "cli/app.hpp"
#include "cli/comparison.hpp"
#include "cli/launched_run.hpp"
#include "cli/worker.hpp"
#include "plan/plan.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

struct RunArguments {
  ConfigOptions config;
  std::string out;
  std::string csv;
  std::string json;
  std::string resume;
  std::string against;
  std::string mismatches;
  std::string counters;
  std::string simulate;
  std::string blocks;
  std::string shard;
  ComparisonOptions comparison;
  DeviceOptions device;
  LaunchOptions launch;
  bool profile = false;
  bool no_isolate = false;
  bool no_gate = false;
  bool verify_only = false;
  bool quiet = false;
  bool no_samples = false;
  bool no_source = false;
  bool need_libraries = false;
  /// May skip cells of the plan before the run. May be empty.
  std::function<void(Plan&)> select;
  /// Prints the finished report, instead of the page. May be empty.
  std::function<void(const Report&)> print;

  bool stdout_is_taken() const { return csv == "-" || json == "-"; }
};

/// Options that choose the device, and --quiet.
void add_device_options(Command& command, RunArguments& options);

ExitCode start_run(const Context& context, const RunArguments& options);

}  // namespace gpuexp::cli
