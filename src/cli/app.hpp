// What the subcommands share: one file each in this folder, with its options, its set-up and its
// run.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/config.hpp"
#include "core/device_spec_file.hpp"
#include "core/kernel_resource.hpp"
#include "core/registry.hpp"

namespace gpuexp::cli {

/// The process's exit codes; part of the interface.
enum class ExitCode {
  ok = 0,             ///< everything asked for was done, and every cell that ran passed
  internal = 1,       ///< a defect of this program or of the machine (disk full)
  usage = 2,          ///< wrong command line, config or input file; nothing was run
  incorrect = 3,      ///< at least one variant gave wrong results
  failed = 4,         ///< at least one cell failed or timed out on the device
  no_device = 5,      ///< the command needs a GPU and none can be used
  regressed = 6,      ///< a comparison failed its gate, or a check found something off
  interrupted = 130,  ///< stopped by SIGINT or SIGTERM; what was measured is written
};

/// What every subcommand works on.
struct Context {
  const Registry& registry;
  KernelResources resources;
  std::vector<std::string> argv;
  /// Set by the subcommand that was chosen; main runs it after parsing.
  std::function<ExitCode()> action;
};

void add_list(CLI::App& app, Context& context);
void add_list_metrics(CLI::App& list, Context& context);
void add_describe(CLI::App& app, Context& context);
void add_plan(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_lesson(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_schema(CLI::App& app, Context& context);
void add_worker(CLI::App& app, Context& context);  ///< hidden: what run and verify start

/// The folder with configs and configs/devices: $GPUEXP_CONFIG_DIR, ./configs, or beside or above
/// the executable. Throws ConfigError naming the places looked at.
std::filesystem::path config_dir();

/// The same; empty where there is none.
std::optional<std::filesystem::path> find_config_dir();

/// What commands that need no GPU take for --gpu where none is given.
inline constexpr const char* kDefaultGpu = "h200";

/// All device specs of config_dir()/devices.
std::vector<DeviceSpecFile> device_specs();

/// A config given on the command line: a path, or the name of one in config_dir(). Throws
/// ConfigError.
std::filesystem::path find_config(const std::string& given);

/// The options that every subcommand on configs has.
struct ConfigOptions {
  std::vector<std::string> configs;
  ConfigOverrides overrides;

  void add_to(CLI::App& command);
  /// Reads every config. Throws ConfigError before anything runs.
  std::vector<Config> read(const Registry& registry) const;
};

}  // namespace gpuexp::cli
