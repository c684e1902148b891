// What the subcommands share: one file each in this folder, with its options, its set-up and its
// run.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config_error.hpp"
#include "config/config.hpp"
#include "config/config_overrides.hpp"
#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuexp::cli {

using Command = CLI::App;  ///< the program or a subcommand
using Option = CLI::Option;

/// The process's exit codes; part of the interface.
enum class ExitCode {
  ok = 0,             ///< everything asked for was done, and every cell that ran passed: at least
                      ///< one, or a shard has none
  internal = 1,       ///< a defect of this program or of the machine (disk full)
  usage = 2,          ///< wrong command line, config or input file; nothing was run
  incorrect = 3,      ///< at least one variant gave wrong results
  failed = 4,         ///< at least one cell failed, timed out or is missing, or no cell passed
  no_device = 5,      ///< the command needs a GPU and none can be used, or the machine lacks what
                      ///< every cell needs
  regressed = 6,      ///< a comparison failed its gate, or a check of the GPU failed
  rank_lost = 7,      ///< a process that a launcher started beside this one is gone, or never came
  interrupted = 130,  ///< stopped by SIGINT or SIGTERM; what was measured is written
};

/// Columns of text in what `describe`, `list` and their like print.
inline constexpr std::size_t kTextWidth = 100;

/// What every subcommand works on.
struct Context {
  const Registry& registry;
  KernelResources resources;
  std::vector<std::string> argv;
  /// Set by the subcommand that was chosen; main runs it after parsing.
  std::function<ExitCode()> action;
};

/// Has main call `action` where the command line chooses this command.
void on_chosen(Command& command, Context& context, std::function<ExitCode()> action);

void add_list(Command& app, Context& context);
void add_list_metrics(Command& list, Context& context);
void add_describe(Command& app, Context& context);
void add_annotate(Command& app, Context& context);
void add_plan(Command& app, Context& context);
void add_predict(Command& app, Context& context);
void add_run(Command& app, Context& context);
void add_verify(Command& app, Context& context);
void add_info(Command& app, Context& context);
void add_merge(Command& app, Context& context);
void add_report(Command& app, Context& context);
void add_explain(Command& app, Context& context);
void add_lesson(Command& app, Context& context);
void add_compare(Command& app, Context& context);
void add_schema(Command& app, Context& context);
void add_worker(Command& app, Context& context);  ///< hidden: what run and verify start

/// The folder with configs and configs/devices: $GPUEXP_CONFIG_DIR, ./configs, or beside or above
/// the executable. Throws ConfigError naming the places looked at.
std::filesystem::path config_dir();

/// The same; empty where there is none.
std::optional<std::filesystem::path> find_config_dir();

/// What commands that need no GPU take for --gpu where none is given.
inline constexpr const char* kDefaultGpu = "h200";

/// All device specs of config_dir()/devices.
std::vector<DeviceSpecFile> device_specs();

/// The spec of the GPU with this name; empty if there is none, or no folder of specs.
std::optional<DeviceSpecFile> spec_of_name(const std::string& name);

/// A config given on the command line: a path, or the name of one in config_dir() ("matmul",
/// "figures/fusion"). Throws ConfigError.
std::filesystem::path find_config(const std::string& given);

/// Of --shard, which `run` and `plan` have.
inline constexpr const char* kShardDoc =
    "only part I of N: the plan's groups are divided into N parts by estimated time; gpuexp merge "
    "combines the results of all parts";

/// The options that every subcommand on configs has.
struct ConfigOptions {
  std::vector<std::string> configs;
  ConfigOverrides overrides;

  void add_to(Command& command);
  /// Reads every config. Throws ConfigError before anything runs.
  std::vector<Config> read(const Registry& registry) const;
  /// All of them as one.
  Config read_as_one(const Registry& registry) const;
};

/// Throws ConfigError with the nearest name.
const Family& find_family(const Registry& registry, const std::string& id);

/// Of "family/variant". Throws ConfigError.
struct NamedVariant {
  const Family& family;
  const Variant& variant;
};
NamedVariant find_variant(const Registry& registry, const std::string& name);

/// One experiment with these variants, if there are any, at the family's default problem as `sets`
/// (--set) change it. Throws ConfigError, also for what names no parameter of the family.
Config single_experiment(const Family& family, std::vector<const Variant*> variants, Mode mode,
                         const std::vector<std::string>& sets);

/// From here on the first signal asks for an end after the launch in flight. A second one, at least
/// two seconds later, ends the process, in case that launch never returns; not at once, because
/// tools such as timeout(1) signal the process and its group.
void catch_interrupts();

/// From here on, the end of the process that started this one counts as a signal: a launcher that
/// is killed sends none.
void end_with_parent();

/// A signal has come.
bool interrupted();

}  // namespace gpuexp::cli
