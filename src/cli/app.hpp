// Declarations shared by the subcommands. Each subcommand has its own file in this folder.
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
#include "own/own_files.hpp"
#include "sass/kernel_resource.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuexp::cli {

using Command = CLI::App;  ///< the program or a subcommand
using Option = CLI::Option;

/// The process's exit codes, which scripts rely on.
enum class ExitCode {
  ok = 0,             ///< the command finished, and every cell that ran passed: at least one,
                      ///< unless a shard has no cells
  internal = 1,       ///< a defect of this program, or of the machine (disk full)
  usage = 2,          ///< wrong command line, config or input file; nothing was run
  incorrect = 3,      ///< at least one variant gave wrong results
  failed = 4,         ///< at least one cell failed, timed out or is missing, or no cell passed
  no_device = 5,      ///< no usable GPU, or the machine lacks what every cell needs
  regressed = 6,      ///< a comparison or a check of the GPU failed
  rank_lost = 7,      ///< another process of the launcher ended early or never connected
  interrupted = 130,  ///< stopped by SIGINT or SIGTERM; rows measured so far are written
};

inline constexpr std::size_t kTextWidth = 100;

struct Context {
  const Registry& registry;
  own::OwnFiles& kernel_files;
  KernelResources resources;
  std::vector<std::string> argv;
  /// Set by the chosen subcommand; main() calls it after parsing.
  std::function<ExitCode()> action;
};

/// Sets `action` as the context's action if the command line chooses this command.
void on_chosen(Command& command, Context& context, std::function<ExitCode()> action);

void add_list(Command& app, Context& context);
void add_list_metrics(Command& list, Context& context);
void add_describe(Command& app, Context& context);
void add_annotate(Command& app, Context& context);
void add_init(Command& app, Context& context);
void add_plan(Command& app, Context& context);
void add_predict(Command& app, Context& context);
void add_run(Command& app, Context& context);
void add_verify(Command& app, Context& context);
void add_tune(Command& app, Context& context);
void add_watch(Command& app, Context& context);
void add_info(Command& app, Context& context);
void add_merge(Command& app, Context& context);
void add_report(Command& app, Context& context);
void add_explain(Command& app, Context& context);
void add_lesson(Command& app, Context& context);
void add_compare(Command& app, Context& context);
void add_schema(Command& app, Context& context);
void add_worker(Command& app, Context& context);         ///< hidden; run and verify start it
void add_nvrtc_compile(Command& app, Context& context);  ///< hidden; the compiler starts it

/// The folder with the configs and devices/: $GPUEXP_CONFIG_DIR if set, else ./configs, else
/// configs/ or share/gpuexp/configs/ in the parent of the executable's folder. Throws ConfigError.
std::filesystem::path config_dir();

std::optional<std::filesystem::path> find_config_dir();

inline constexpr const char* kDefaultGpu = "h200";

std::vector<DeviceSpecFile> device_specs();

/// The spec of the GPU with this name; empty if no spec has this name or the folder is missing.
std::optional<DeviceSpecFile> spec_of_name(const std::string& name);

/// Users' kernel files that are loaded later are first compiled for these GPUs: ids, names or
/// aliases, separated by commas.
void compile_first_for(const Context& context, const std::string& gpus);

/// The same for a GPU of this machine.
void compile_first_for_device(const Context& context, int device);

/// The path of a config, given as a path or as a name in config_dir(), such as "matmul" or
/// "figures/fusion". Throws ConfigError.
std::filesystem::path find_config(const std::string& given);

inline constexpr const char* kShardDoc =
    "only part I of N: the plan's groups are divided into N parts by estimated time; gpuexp merge "
    "combines the results of all parts";

struct ConfigOptions {
  std::vector<std::string> configs;
  ConfigOverrides overrides;

  void add_to(Command& command);
  std::vector<Config> read(const Registry& registry) const;
  Config read_as_one(const Registry& registry) const;
};

/// The family with this id. Throws ConfigError that suggests the most similar name.
const Family& find_family(const Registry& registry, const std::string& id);

struct NamedVariant {
  const Family& family;
  const Variant& variant;
};
/// The variant FAMILY/VARIANT, or FILE:VARIANT of a kernel file; VARIANT may be omitted if the file
/// has only one. Throws ConfigError that lists the variants, and what loading a kernel file throws.
NamedVariant find_variant(const Registry& registry, const std::string& name);
/// Whether find_variant() of this name loads a kernel file.
bool names_kernel_file(const std::string& variant);

/// A config with one experiment, or with none if `variants` is empty. The problem is the family's
/// default, changed by `sets` (--set). Throws ConfigError, also for an unknown parameter.
Config single_experiment(const Family& family, std::vector<const Variant*> variants, Mode mode,
                         const std::vector<std::string>& sets);

/// Handles SIGINT and SIGTERM. The first signal sets interrupted(), so that the run ends after the
/// current launch. A second signal ends the process, in case the launch never returns. A signal
/// within two seconds of the first is ignored, because tools such as timeout(1) signal both the
/// process and its group.
void catch_interrupts();

/// Printed on standard error if the second signal ends the process: at most 4 KiB.
void say_at_second_interrupt(const std::string& text);

/// Sets interrupted() when the parent process ends, because a killed launcher sends no signal.
void interrupt_at_parent_exit();

bool interrupted();

}  // namespace gpuexp::cli
