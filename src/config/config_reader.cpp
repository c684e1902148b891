#include "config/config_reader.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/sha256.hpp"
#include "base/text_parts.hpp"
#include "config/config_axes.hpp"
#include "config/config_experiment.hpp"
#include "config/config_figures.hpp"

namespace gpuexp {

namespace {

std::vector<Experiment> read_experiments(const Node& node, const Registry& registry) {
  std::vector<Experiment> experiments;
  std::map<std::string, std::string> place_of;  // first JSON path of each name
  double cells = 0;
  for (const Node& item : node.items("a list of experiments")) {
    experiments.push_back(read_experiment(item, registry));
    const Experiment& experiment = experiments.back();
    const auto [first, is_free] = place_of.emplace(experiment.name, item.path());
    if (!is_free) {
      item.fail(fmt::format("the name '{}' is taken by {}; give this experiment another \"name\"",
                            experiment.name, first->second));
    }
    cells += count_cells(experiment);
    check_cells(cells, item);
  }
  return experiments;
}

namespace fs = std::filesystem;

void check_names(const std::vector<Config>& configs) {
  std::map<std::string, std::string> path_of;
  for (const Config& config : configs) {
    const auto [first, is_new] = path_of.try_emplace(config.name, config.path);
    if (is_new) continue;
    throw ConfigError(
        fmt::format("{}: $.name: '{}' is the name of {} too; give each config of a run its own",
                    config.path, config.name, first->second));
  }
}

void check_seeds(const std::vector<Config>& configs) {
  for (const Config& config : configs) {
    if (config.seed == configs.front().seed) continue;
    throw ConfigError(fmt::format(
        "{}: $.seed: {} has {} and {} has {}; a run has one seed: set it for all configs with "
        "--seed N",
        config.path, configs.front().path, configs.front().seed, config.path, config.seed));
  }
}

/// The folder that contains all files; empty if they are in several folders.
std::optional<fs::path> folder_of_all(const std::vector<fs::path>& paths) {
  std::set<fs::path> folders;
  for (const fs::path& path : paths)
    folders.insert(fs::absolute(path).lexically_normal().parent_path());
  return folders.size() == 1 ? std::optional(*folders.begin()) : std::nullopt;
}

std::string name_of_all(const std::vector<fs::path>& paths) {
  const auto folder = folder_of_all(paths);
  return folder && is_plain_name(folder->filename().string()) ? folder->filename().string()
                                                              : "configs";
}

// Path of the merged config, for messages and reports.
std::string path_of_all(const std::vector<fs::path>& paths, const std::vector<std::string>& names) {
  if (!folder_of_all(paths)) return fmt::format("{}", fmt::join(names, " "));
  const fs::path folder = paths.front().parent_path();
  return fmt::format("{} ({} configs)", folder.empty() ? "." : folder.string(), paths.size());
}

std::string name_in(const Json& experiment) {
  const Json* name = experiment.find("name");
  return name ? name->get<std::string>() : experiment.at("family").get<std::string>();
}

void prefix_rows(Json& claim, const char* key, const std::string& prefix) {
  if (!claim.contains(key)) return;
  Json& rows = claim[key];
  const auto prefix_row = [&](Json& row) {
    row["experiment"] = prefix + row.at("experiment").get<std::string>();
  };
  if (rows.is_object()) return prefix_row(rows);
  for (Json& row : rows.items())
    prefix_row(row);
}

void add_prefixed(const Config& config, Json& experiments, Json& figures) {
  const std::string prefix = config.name + ".";
  Json json = read_json(config.text, config.path);
  for (Json& experiment : json["experiments"].items()) {
    experiment["name"] = prefix + name_in(experiment);
    experiments.push_back(std::move(experiment));
  }
  if (!json.contains("figures")) return;
  for (Json& figure : json["figures"].items()) {
    for (Json& claim : figure["claims"].items()) {
      prefix_rows(claim, "rows", prefix);
      prefix_rows(claim, "over", prefix);
    }
    figures.push_back(std::move(figure));
  }
}

constexpr const char* kKernelFileNames =
    "a kernel file, whose name ends in .cu, .cuh, .ptx, .cubin or .gpuexp.json";

bool is_object(std::string_view text) {
  return trimmed(text).starts_with('{');
}

/// A file that neither its name nor its contents show to be JSON may be meant as a kernel file.
void check_kind(const std::filesystem::path& path, std::string_view text) {
  if (path.extension() != ".json" && !is_object(text))
    throw ConfigError(fmt::format("{}: is neither a config, which is a JSON object, nor {}",
                                  path.string(), kKernelFileNames));
}

std::string text_of_standard_input() {
  std::string text = read_text_file("/dev/stdin");
  const bool is_empty = trimmed(text).empty();  // read_json() then says so
  if (!is_empty && !is_object(text))
    throw ConfigError(
        "standard input: is not a config, which is a JSON object; a kernel file is not read from "
        "standard input: name the file");
  return text;
}

void check_is_no_folder(const std::filesystem::path& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    throw ConfigError(
        fmt::format("{}: is a folder without a cubin; expected a config, which is a JSON file, {}, "
                    "or a folder with one cubin",
                    path.string(), kKernelFileNames));
}

}  // namespace

Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides) {
  if (path == kStandardInput)
    return parse_config(text_of_standard_input(), "standard input", registry, overrides);
  if (is_kernel_file(path.string()))
    return parse_config(registry.kernel_files().config_text(path.string()), path.string(), registry,
                        overrides);
  check_is_no_folder(path);
  std::string text = read_text_file(path);
  check_kind(path, text);
  return parse_config(std::move(text), path.string(), registry, overrides);
}

Config parse_config(std::string text, const std::string& path, const Registry& registry,
                    const ConfigOverrides& overrides) {
  const Json json = read_json(text, path);
  const Node root(json, path, "$");
  root.check_keys(kConfigKeys);
  Config config;
  config.path = path;
  if (const auto schema = root.find("$schema")) schema->text();
  config.name = read_name(root.require("name"));
  if (const auto description = root.find("description")) config.description = description->text();
  if (const auto seed = root.find("seed")) config.seed = seed->unsigned_integer();
  config.experiments = read_experiments(root.require("experiments"), registry);
  config.figures = read_figures(root, config.experiments);
  apply_overrides(overrides, config);
  for (Experiment& experiment : config.experiments)
    drop_repetitions(experiment);
  config.hash = sha256(text);
  config.text = std::move(text);
  return config;
}

Config read_as_one(const std::vector<fs::path>& paths, const Registry& registry,
                   const ConfigOverrides& overrides) {
  if (paths.size() == 1) return read_config(paths.front(), registry, overrides);
  std::vector<Config> configs;
  for (const fs::path& path : paths)
    configs.push_back(read_config(path, registry));
  check_names(configs);
  if (!overrides.seed) check_seeds(configs);
  std::vector<std::string> names;
  Json experiments = Json::array();
  Json figures = Json::array();
  for (const Config& config : configs) {
    names.push_back(config.path);
    add_prefixed(config, experiments, figures);
  }
  Json merged = Json::object();
  merged["name"] = name_of_all(paths);
  merged["description"] = fmt::format("Experiments of {}", fmt::join(names, ", "));
  merged["seed"] = configs.front().seed;
  merged["experiments"] = std::move(experiments);
  if (!figures.empty()) merged["figures"] = std::move(figures);
  return parse_config(merged.dump(2) + "\n", path_of_all(paths, names), registry, overrides);
}

}  // namespace gpuexp
