#include "config/config_experiment.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "config/config_axes.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

const Family& read_family(const Node& node, const Registry& registry) {
  if (node.json().is_string()) {
    if (is_kernel_file(node.text())) return registry.kernel_files().load(node.text());
    if (const auto why = registry.omitted_message(node.text())) node.fail(*why);
  }
  return *registry.find(node.one_of(names_of(registry.families()), "family"));
}

std::vector<const Variant*> read_variants(const Node& experiment, const Family& family) {
  const auto list = experiment.find("variants");
  std::vector<bool> selected(family.variants.size(), !list);
  std::set<std::string> written;
  for (const Node& item : list ? list->items("a list of variants") : std::vector<Node>{}) {
    const std::string pattern = item.text();
    if (!written.insert(pattern).second)
      item.fail(fmt::format("{} is given twice", describe(item.json())));
    bool matches = false;
    for (std::size_t i = 0; i < family.variants.size(); ++i) {
      if (!glob_match(pattern, family.variants[i].id)) continue;
      selected[i] = true;
      matches = true;
    }
    if (matches) continue;
    item.fail(fmt::format("{} {} of family '{}'{}", describe(item.json()),
                          is_glob(pattern) ? "matches no variant" : "is not a variant", family.id,
                          allowed_names(pattern, names_of(family.variants))));
  }
  std::vector<const Variant*> variants;
  for (std::size_t i = 0; i < family.variants.size(); ++i) {
    if (selected[i]) variants.push_back(&family.variants[i]);
  }
  return variants;
}

const Variant* read_baseline(const Node& experiment, const Family& family,
                             const std::vector<const Variant*>& selected) {
  const auto node = experiment.find("baseline");
  if (!node) return nullptr;
  const std::string id = node->text();
  std::vector<std::string> ids;
  for (const Variant* variant : selected) {
    if (variant->id == id) return variant;
    ids.push_back(variant->id);
  }
  const char* problem = family.find(id) ? "is not among the experiment's variants"
                        : is_glob(id)   ? "is a pattern; a baseline is one variant"
                                        : "is not a variant";
  node->fail(fmt::format("{} {}{}", describe(node->json()), problem, allowed_names(id, ids)));
}

MeasureSettings read_measure(const Node& experiment) {
  MeasureSettings settings;
  const auto node = experiment.find("measure");
  if (!node) return settings;
  node->check_keys(std::vector<Key>(kMeasureKeys.begin(), kMeasureKeys.end()));
  for (const MeasureKey& key : kMeasureKeys) {
    if (const auto setting = node->find(key.name)) read_measure_setting(*setting, key, settings);
  }
  check_measure(settings, *node);
  return settings;
}

void find_unused_parameters(Experiment& experiment, const Registry& registry) {
  const Family& family = *experiment.family;
  if (!is_kernel_file(family.id) || !registry.kernel_files().unused_parameters) return;
  for (const Variant* variant : experiment.variants) {
    for (const std::string& name : registry.kernel_files().unused_parameters(family, *variant))
      experiment.unused_parameters[variant].push_back(
          static_cast<std::size_t>(family.find_parameter(name) - family.parameters.data()));
  }
}

}  // namespace

Experiment read_experiment(const Node& node, const Registry& registry) {
  node.check_keys(kExperimentKeys);
  Experiment experiment;
  experiment.family = &read_family(node.require("family"), registry);
  const auto name = node.find("name");
  experiment.name = name ? read_name(*name) : experiment.family->id;
  experiment.variants = read_variants(node, *experiment.family);
  experiment.baseline = read_baseline(node, *experiment.family, experiment.variants);
  read_axes(node, experiment);
  check_axes(experiment, node);
  find_unused_parameters(experiment, registry);
  const auto modes = node.find("modes");
  experiment.modes = modes ? read_modes(*modes) : std::vector{Mode::cold};
  experiment.measure = read_measure(node);
  if (const auto counters = node.find("counters")) experiment.counters = read_counters(*counters);
  return experiment;
}

std::vector<Mode> read_modes(const Node& node) {
  std::vector<Mode> modes;
  for (const Node& item : node.items("a list of modes")) {
    const std::string name = item.one_of(names_of(kModes), "mode");
    const Mode mode = std::ranges::find(kModes, name, &ModeKey::name)->mode;
    if (std::find(modes.begin(), modes.end(), mode) != modes.end())
      item.fail(fmt::format("{} is given twice", describe(item.json())));
    modes.push_back(mode);
  }
  return modes;
}

std::vector<std::string> read_counters(const Node& node) {
  const std::vector<std::string> known = counter_names();
  std::vector<std::string> counters;
  for (const Node& item : node.items("a list of counters")) {
    const std::string name = item.text();
    if (!is_nsight_metric(name) && std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest_name(name, known);
      item.fail(
          fmt::format("{} is not a counter, group of counters or Nsight Compute metric;{} allowed: "
                      "{}, {}, {}, and the names that gpuexp list metrics prints",
                      describe(item.json()), near ? fmt::format(" did you mean '{}'?", *near) : "",
                      kAllCounters, kNoCounters, fmt::join(counter_groups(), ", ")));
    }
    if (std::find(counters.begin(), counters.end(), name) != counters.end())
      item.fail(fmt::format("{} is given twice", describe(item.json())));
    counters.push_back(name);
  }
  if (counters == std::vector<std::string>{kNoCounters}) return {};
  if (std::find(counters.begin(), counters.end(), kNoCounters) != counters.end())
    node.fail(fmt::format("'{}' cannot be combined with other counters", kNoCounters));
  return counters;
}

void read_measure_setting(const Node& node, const MeasureKey& key, MeasureSettings& settings) {
  if (const auto* member = std::get_if<int MeasureSettings::*>(&key.member)) {
    settings.*(*member) = static_cast<int>(node.integer(key.bounds()));
  } else {
    settings.*std::get<double MeasureSettings::*>(key.member) = node.real(key.bounds());
  }
}

void check_measure(const MeasureSettings& settings, const Node& place) {
  if (settings.min_samples > settings.max_samples) {
    place.fail(fmt::format("min_samples is {}, above max_samples, which is {}",
                           settings.min_samples, settings.max_samples));
  }
}

bool is_plain_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameLength && name.front() != '.' &&
         std::ranges::all_of(name, is_plain);
}

std::string read_name(const Node& node) {
  std::string name = node.text();
  if (!is_plain_name(name)) {
    node.fail(
        fmt::format("{} cannot be part of a file name; allowed: 1 to {} letters, digits, '.', "
                    "'_' and '-', not starting with '.'",
                    describe(node.json()), kMaxNameLength));
  }
  return name;
}

}  // namespace gpuexp
