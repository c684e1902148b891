// Declarations shared by the subcommands. Each subcommand has a file in this folder with its
// options and its action.
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
  ok = 0,             ///< the command finished, and every cell that ran passed: at least one,
                      ///< unless a shard has no cells
  internal = 1,       ///< a defect of this program or of the machine (disk full)
  usage = 2,          ///< wrong command line, config or input file; nothing was run
  incorrect = 3,      ///< at least one variant gave wrong results
  failed = 4,         ///< at least one cell failed, timed out or is missing, or no cell passed
  no_device = 5,      ///< the command needs a GPU and none can be used, or the machine lacks what
                      ///< every cell needs
  regressed = 6,      ///< a comparison failed its gate, or a check of the GPU failed
  rank_lost = 7,      ///< another process of the launcher ended early or never connected
  interrupted = 130,  ///< stopped by SIGINT or SIGTERM; rows measured so far are written
};

/// Line width of the text that `describe`, `list` and `list metrics` print, in columns.
inline constexpr std::size_t kTextWidth = 100;

struct Context {
  const Registry& registry;
  KernelResources resources;
  std::vector<std::string> argv;
  /// Set by the chosen subcommand; main runs it after parsing.
  std::function<ExitCode()> action;
};

/// Sets `action` as the action of main if the command line chooses this command.
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
void add_worker(Command& app, Context& context);  ///< hidden; run and verify start it

/// The folder with configs and devices/: $GPUEXP_CONFIG_DIR if set, else ./configs, else configs/
/// or share/gpuexp/configs/ next to the executable's folder. Throws ConfigError.
std::filesystem::path config_dir();

/// config_dir(), or empty if there is none.
std::optional<std::filesystem::path> find_config_dir();

/// Default of --gpu for commands that need no GPU.
inline constexpr const char* kDefaultGpu = "h200";

/// All specs in config_dir()/devices.
std::vector<DeviceSpecFile> device_specs();

/// The spec of the GPU with this name; empty if no spec or no folder of specs is found.
std::optional<DeviceSpecFile> spec_of_name(const std::string& name);

/// The path of a config given as a path or as a name in config_dir(), such as "matmul" or
/// "figures/fusion". Throws ConfigError.
std::filesystem::path find_config(const std::string& given);

/// Help text of --shard for `run` and `plan`.
inline constexpr const char* kShardDoc =
    "only part I of N: the plan's groups are divided into N parts by estimated time; gpuexp merge "
    "combines the results of all parts";

/// Options common to all subcommands that read configs.
struct ConfigOptions {
  std::vector<std::string> configs;
  ConfigOverrides overrides;

  void add_to(Command& command);
  /// Reads every config. Throws ConfigError.
  std::vector<Config> read(const Registry& registry) const;
  /// Reads all configs as one. Throws ConfigError.
  Config read_as_one(const Registry& registry) const;
};

/// The family with this id. Throws ConfigError that suggests the nearest name.
const Family& find_family(const Registry& registry, const std::string& id);

struct NamedVariant {
  const Family& family;
  const Variant& variant;
};
/// The variant named "family/variant". Throws ConfigError.
NamedVariant find_variant(const Registry& registry, const std::string& name);

/// A config with one experiment, or with none if `variants` is empty. The problem is the family's
/// default, changed by `sets` (--set). Throws ConfigError, also for an unknown parameter.
Config single_experiment(const Family& family, std::vector<const Variant*> variants, Mode mode,
                         const std::vector<std::string>& sets);

/// Handles SIGINT and SIGTERM. The first signal sets interrupted(), so the run ends after the
/// current launch. A second signal at least two seconds later ends the process, in case that launch
/// never returns. Earlier ones are ignored: tools such as timeout(1) signal the process and its
/// group.
void catch_interrupts();

/// Makes the end of the parent process set interrupted(): a killed launcher sends no signal.
void interrupt_at_parent_exit();

/// True after a signal, or after the parent's end if interrupt_at_parent_exit() was called.
bool interrupted();

}  // namespace gpuexp::cli
