#include "cli/app.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "config/config_files.hpp"
#include "config/config_keys.hpp"
#include "config/config_reader.hpp"
#include "gpu/device_query.hpp"

namespace gpuexp::cli {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;
volatile std::time_t g_interrupted_at = 0;
pid_t g_parent = 0;
pid_t g_child = 0;  // process whose parent is g_parent; its copies have other parents

constexpr std::size_t kMaxLastWords = 4096;
std::array<char, kMaxLastWords> g_last_words{};
volatile std::sig_atomic_t g_last_words_bytes = 0;

void interrupt(int signal) {
  constexpr std::time_t kPatienceS = 2;
  const std::time_t now = std::time(nullptr);
  if (!g_interrupted) {
    g_interrupted = 1;
    g_interrupted_at = now;
  } else if (now - g_interrupted_at >= kPatienceS) {
    const ssize_t written =
        ::write(STDERR_FILENO, g_last_words.data(), static_cast<std::size_t>(g_last_words_bytes));
    static_cast<void>(written);  // the process ends anyway
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> config_dir_candidates() {
  if (const char* given = std::getenv("GPUEXP_CONFIG_DIR")) return {given};
  std::vector<fs::path> candidates{"configs"};
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    candidates.push_back(executable.parent_path().parent_path() / "configs");
    candidates.push_back(executable.parent_path().parent_path() / "share/gpuexp/configs");
  }
  return candidates;
}

}  // namespace

std::optional<fs::path> find_config_dir() {
  for (const fs::path& candidate : config_dir_candidates()) {
    std::error_code unknown;
    if (fs::is_directory(candidate / "devices", unknown)) return candidate;
  }
  return std::nullopt;
}

fs::path config_dir() {
  if (auto found = find_config_dir()) return *found;
  std::string searched;
  for (const fs::path& candidate : config_dir_candidates())
    searched += fmt::format("\n  {}", candidate.string());
  throw ConfigError(
      "no folder with configs and devices/ was found; set GPUEXP_CONFIG_DIR. Searched:" + searched);
}

std::vector<DeviceSpecFile> device_specs() {
  return read_device_specs(config_dir() / "devices");
}

std::optional<DeviceSpecFile> spec_of_name(const std::string& name) {
  const auto directory = find_config_dir();
  if (!directory) return std::nullopt;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* found = match_device_name(specs, name);
  return found ? std::optional(*found) : std::nullopt;
}

void compile_first_for(const Context& context, const std::string& gpus) {
  context.kernel_files.compile_first_for([gpus] {
    const auto specs = device_specs();
    std::vector<int> capabilities;
    for (const std::string& gpu : split(gpus, ','))
      capabilities.push_back(find_device_spec(specs, gpu).spec.compute_capability());
    if (capabilities.empty()) throw ConfigError("--gpu: expected the name of a GPU (gpuexp list)");
    return capabilities;
  });
}

void compile_first_for_device(const Context& context, int device) {
  context.kernel_files.compile_first_for([device] {
    constexpr int kAny = 90;  // without the GPU, the command ends after the files are loaded
    return std::vector<int>{compute_capability_of(device).value_or(kAny)};
  });
}

fs::path find_config(const std::string& given) {
  if (given == "-") return kStandardInput;
  if (is_kernel_file(given)) return given;
  // A folder with the config's name, such as a results folder, does not hide the config.
  std::error_code unknown;
  if (!is_missing(given) && !fs::is_directory(given, unknown)) return given;
  const std::string file = fs::path(given).extension() == ".json" ? given : given + ".json";
  const bool is_path = given.find('/') != std::string::npos;
  const auto found = find_config_dir();
  if (found && !is_missing(*found / file)) return *found / file;
  if (is_path || !is_missing(given)) return given;
  const fs::path directory = config_dir();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  const auto near = nearest_name(fs::path(given).stem().string(), names);
  throw ConfigError(fmt::format("{}: no such file, and no config of that name in {}{}", given,
                                directory.string(),
                                near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

namespace {

std::uint64_t seed_of(const std::string& text) {
  if (const auto seed = parsed<std::uint64_t>(text)) return *seed;
  throw ConfigError(fmt::format("--seed {}: expected an integer from 0 to {}", text,
                                std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace

void on_chosen(Command& command, Context& context, std::function<ExitCode()> action) {
  command.callback([&context, action = std::move(action)] { context.action = action; });
}

void ConfigOptions::add_to(Command& command) {
  command
      .add_option("config", configs,
                  "config files, names of configs in configs/, or kernel files such as my.cu; - "
                  "reads standard input")
      ->required();
  command
      .add_option(
          "--filter", overrides.filters,
          "keep only the variants whose family/variant matches this glob; repeat the option "
          "to keep the variants that any of the globs matches")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  command
      .add_option("--set", overrides.sets,
                  "replace an axis (n=1024,2^11), the modes (modes=warm) or a setting of measure "
                  "(measure.max_seconds=1); repeat the option for each key; put a value with a "
                  "comma in double quotes")
      ->type_name("KEY=VALUE[,VALUE...]")
      ->allow_extra_args(false);
  // CLI11 would wrap -1 and numbers above 64 bits to another seed.
  command
      .add_option_function<std::string>(
          "--seed", [this](const std::string& text) { overrides.seed = seed_of(text); },
          "seed of the input data, instead of the config's seed")
      ->type_name("UINT");
}

std::vector<Config> ConfigOptions::read(const Registry& registry) const {
  std::vector<Config> read;
  for (const std::string& given : configs) {
    read.push_back(read_config(find_config(given), registry, overrides));
    check_files(read.back());
  }
  return read;
}

Config ConfigOptions::read_as_one(const Registry& registry) const {
  std::vector<fs::path> paths;
  for (const std::string& given : configs)
    paths.push_back(find_config(given));
  Config config = gpuexp::read_as_one(paths, registry, overrides);
  check_files(config);
  return config;
}

const Family& find_family(const Registry& registry, const std::string& id) {
  if (is_kernel_file(id)) return registry.kernel_files().load(id);
  if (const Family* family = registry.find(id)) return *family;
  if (const auto why = registry.omitted_message(id)) throw ConfigError(*why);
  const std::vector<std::string> ids = names_of(registry.families());
  throw ConfigError(fmt::format("unknown family '{}'{}", shorten(id), allowed_names(id, ids)));
}

namespace {

struct SplitName {
  std::string family;  ///< or kernel file
  char separator = '/';
  std::optional<std::string> variant;
};

SplitName split_variant_name(const std::string& name) {
  if (is_kernel_file(name)) return {name, ':', std::nullopt};
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos && is_kernel_file(name.substr(0, colon)))
    return {name.substr(0, colon), ':', name.substr(colon + 1)};
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {name, '/', std::nullopt};
  return {name.substr(0, slash), '/', name.substr(slash + 1)};
}

}  // namespace

bool names_kernel_file(const std::string& variant) {
  return is_kernel_file(split_variant_name(variant).family);
}

NamedVariant find_variant(const Registry& registry, const std::string& name) {
  const SplitName split = split_variant_name(name);
  const Family& family = find_family(registry, split.family);
  const std::vector<std::string> ids = names_of(family.variants);
  const bool is_only_variant = split.separator == ':' && ids.size() == 1;
  if (!split.variant && !is_only_variant)
    throw ConfigError(
        fmt::format("'{}' does not name a variant; expected {}{}VARIANT with one of: {}",
                    shorten(name), split.family, split.separator, fmt::join(ids, ", ")));
  const std::string id = split.variant.value_or(ids.front());
  if (const Variant* variant = family.find(id)) return {family, *variant};
  throw ConfigError(fmt::format("family '{}' has no variant '{}'{}", family.id, shorten(id),
                                allowed_names(id, ids)));
}

Config single_experiment(const Family& family, std::vector<const Variant*> variants, Mode mode,
                         const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const std::string name = set.substr(0, set.find('='));
    if (family.find_parameter(name)) continue;
    throw ConfigError(fmt::format("--set {}: unknown parameter '{}' of family '{}'{}", shorten(set),
                                  shorten(name), family.id,
                                  allowed_names(name, names_of(family.parameters))));
  }
  Config config;
  config.name = family.id;
  if (variants.empty()) return config;
  Experiment& experiment = config.experiments.emplace_back();
  experiment.name = family.id;
  experiment.family = &family;
  experiment.variants = std::move(variants);
  experiment.modes = {mode};
  apply_overrides({{}, sets, {}}, config);
  check_files(config);
  return config;
}

void catch_interrupts() {
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}

void say_at_second_interrupt(const std::string& text) {
  g_last_words_bytes = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::size_t bytes = text.copy(g_last_words.data(), g_last_words.size());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g_last_words_bytes = static_cast<std::sig_atomic_t>(bytes);
}

void interrupt_at_parent_exit() {
  g_parent = ::getppid();
  g_child = ::getpid();
}

bool interrupted() {
  // Polls, because prctl(PR_SET_PDEATHSIG) also signals when only the parent's thread ends.
  if (g_parent != 0 && ::getpid() == g_child && ::getppid() != g_parent) g_interrupted = 1;
  return g_interrupted != 0;
}

}  // namespace gpuexp::cli
