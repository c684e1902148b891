#include "cli/app.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "base/names.hpp"
#include "config/config_merge.hpp"
#include "config/config_reader.hpp"

namespace gpuexp::cli {

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
      .add_option_function(
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

}  // namespace gpuexp::cli
