#include "config/config_reader.hpp"

#include <map>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/sha256.hpp"
#include "config/config_axes.hpp"
#include "config/config_experiment.hpp"
#include "config/config_figures.hpp"

namespace gpuexp {

namespace {

std::vector<Experiment> read_experiments(const Node& node, const Registry& registry) {
  std::vector<Experiment> experiments;
  std::map<std::string, std::string> place_of;  // by name
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

}  // namespace

Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides) {
  return parse_config(read_text_file(path), path.string(), registry, overrides);
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

}  // namespace gpuexp
