#include "cli/app.hpp"

#include <charconv>
#include <csignal>
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
#include "config/config_reader.hpp"

namespace gpuexp::cli {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;
volatile std::time_t g_interrupted_at = 0;
pid_t g_parent = 0;

void interrupt(int signal) {
  constexpr std::time_t kPatienceS = 2;
  const std::time_t now = std::time(nullptr);
  if (!g_interrupted) {
    g_interrupted = 1;
    g_interrupted_at = now;
  } else if (now - g_interrupted_at >= kPatienceS) {
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
    if (fs::is_directory(candidate / "devices")) return candidate;
  }
  return std::nullopt;
}

fs::path config_dir() {
  if (auto found = find_config_dir()) return *found;
  std::string looked;
  for (const fs::path& candidate : config_dir_candidates())
    looked += fmt::format("\n  {}", candidate.string());
  throw ConfigError(
      "no folder with configs and devices/ was found; set GPUEXP_CONFIG_DIR. looked at:" + looked);
}

std::vector<DeviceSpecFile> device_specs() {
  return read_device_specs(config_dir() / "devices");
}

fs::path find_config(const std::string& given) {
  // A folder of that name, for results perhaps, hides no config.
  if (fs::exists(given) && !fs::is_directory(given)) return given;
  const std::string file = fs::path(given).extension() == ".json" ? given : given + ".json";
  const bool is_path = given.find('/') != std::string::npos;
  const auto found = find_config_dir();
  if (found && fs::exists(*found / file)) return *found / file;
  if (is_path || fs::exists(given)) return given;
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
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || stopped_at != end) {
    throw ConfigError(fmt::format("--seed {}: expected an integer from 0 to {}", text,
                                  std::numeric_limits<std::uint64_t>::max()));
  }
  return seed;
}

}  // namespace

void on_chosen(Command& command, Context& context, std::function<ExitCode()> action) {
  command.callback([&context, action = std::move(action)] { context.action = action; });
}

void ConfigOptions::add_to(Command& command) {
  command.add_option("config", configs, "config files, or names of configs in configs/")
      ->required();
  command.add_option("--filter", overrides.filter,
                     "keep only the variants whose family/variant matches this glob");
  command
      .add_option("--set", overrides.sets,
                  "replace an axis, modes or a measure setting: n=1024,2048 modes=warm "
                  "measure.max_seconds=1")
      ->type_name("KEY=VALUE[,VALUE...]")
      ->allow_extra_args(false);
  // Read here: CLI11 wraps -1 and what is beyond 64 bits into a seed that nobody asked for.
  command
      .add_option_function<std::string>(
          "--seed", [this](const std::string& text) { overrides.seed = seed_of(text); },
          "seed of the inputs, instead of the config's")
      ->type_name("UINT");
}

std::vector<Config> ConfigOptions::read(const Registry& registry) const {
  std::vector<Config> read;
  for (const std::string& given : configs)
    read.push_back(read_config(find_config(given), registry, overrides));
  return read;
}

Config ConfigOptions::read_as_one(const Registry& registry) const {
  std::vector<fs::path> paths;
  for (const std::string& given : configs)
    paths.push_back(find_config(given));
  return gpuexp::read_as_one(paths, registry, overrides);
}

const Family& find_family(const Registry& registry, const std::string& id) {
  if (const Family* family = registry.find(id)) return *family;
  if (const auto why = registry.left_out(id)) throw ConfigError(*why);
  std::vector<std::string> ids;
  for (const Family& f : registry.families())
    ids.push_back(f.id);
  const auto near = nearest_name(id, ids);
  throw ConfigError(fmt::format("family '{}' is not known{}; known: {}", shorten(id),
                                near ? fmt::format("; did you mean '{}'?", *near) : "",
                                fmt::join(ids, ", ")));
}

NamedVariant find_variant(const Registry& registry, const std::string& name) {
  const std::size_t slash = name.find('/');
  const Family& family = find_family(registry, name.substr(0, slash));
  std::vector<std::string> ids;
  for (const Variant& v : family.variants)
    ids.push_back(v.id);
  if (slash == std::string::npos)
    throw ConfigError(fmt::format("'{}' names no variant; expected {}/VARIANT, of: {}",
                                  shorten(name), family.id, fmt::join(ids, ", ")));
  const std::string id = name.substr(slash + 1);
  for (const Variant& v : family.variants) {
    if (v.id == id) return {family, v};
  }
  throw ConfigError(fmt::format("family '{}' has no variant '{}'{}", family.id, shorten(id),
                                allowed_names(id, ids)));
}

void check_is_parameter(const std::string& set, const Family& family) {
  const std::string name = set.substr(0, set.find('='));
  if (family.find_parameter(name)) return;
  std::vector<std::string> names;
  for (const Parameter& p : family.parameters)
    names.push_back(p.name);
  throw ConfigError(fmt::format("--set {}: '{}' is no parameter of family '{}'{}", shorten(set),
                                shorten(name), family.id, allowed_names(name, names)));
}

void catch_interrupts() {
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}

void end_with_parent() {
  g_parent = ::getppid();
}

bool interrupted() {
  // Not by prctl(PR_SET_PDEATHSIG), which the end of the parent's thread sets off, too.
  if (g_parent != 0 && ::getppid() != g_parent) g_interrupted = 1;
  return g_interrupted != 0;
}

}  // namespace gpuexp::cli
