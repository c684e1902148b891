#include "config/config_overrides.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/checked_power.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "config/config_axes.hpp"
#include "config/config_experiment.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kMeasurePrefix = "measure.";

struct Setting {
  std::string option;  // for messages
  std::string key;
  std::vector<std::string> values;
};

// Position after the value. A value in double quotes is a JSON string, which may contain commas.
std::size_t end_of_value(const std::string& text, std::size_t begin) {
  std::size_t end = begin;
  if (text[begin] == '"') {
    for (++end; end < text.size() && text[end] != '"'; ++end)
      end += text[end] == '\\' ? 1 : 0;
  }
  return std::min(text.find(',', end), text.size());
}

std::string unquoted(const std::string& value, const std::string& option) {
  if (value.size() == 1 || value.back() != '"')
    throw ConfigError(fmt::format("{}: expected a '\"' at the end of {}", option, shorten(value)));
  std::string text = read_json(value, option).get<std::string>();
  if (text.empty())
    throw ConfigError(option + ": expected a value, found nothing between the quotes");
  return text;
}

Setting parse_setting(const std::string& text) {
  Setting setting{fmt::format("--set {}", shorten(text)), {}, {}};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError(setting.option + ": expected key=value[,value...]");
  setting.key = text.substr(0, equals);
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = end_of_value(text, begin);
    if (end == begin) throw ConfigError(setting.option + ": expected a value, found nothing");
    const std::string value = text.substr(begin, end - begin);
    setting.values.push_back(value.front() == '"' ? unquoted(value, setting.option) : value);
    begin = end + 1;
  }
  return setting;
}

// BASE^EXPONENT, as in the declaration of a kernel file: 2^20. Empty for text of another form.
std::optional<std::int64_t> power_from(const std::string& text, const std::string& option) {
  const std::size_t caret = text.find('^');
  if (caret == std::string::npos) return std::nullopt;
  const auto base = parsed<std::int64_t>(std::string_view(text).substr(0, caret));
  const auto exponent = parsed<std::int64_t>(std::string_view(text).substr(caret + 1));
  if (base.value_or(-1) < 0 || exponent.value_or(-1) < 0) return std::nullopt;
  const auto power = checked_power(*base, *exponent);
  if (!power) throw ConfigError(fmt::format("{}: {} is above 2^63 - 1", option, shorten(text)));
  return power;
}

Json number_from(const std::string& text, const std::string& option) {
  if (const auto power = power_from(text, option)) return Json(*power);
  if (text.find("..") != std::string::npos)
    throw ConfigError(
        fmt::format("{}: found the range '{}'; expected its values, separated by commas", option,
                    shorten(text)));
  if (text.find_first_not_of("0123456789+-.eE") == std::string::npos)
    return read_json(text, option);
  throw ConfigError(fmt::format("{}: expected a number such as 1024, 2^10 or 0.5, found '{}'",
                                option, shorten(text)));
}

// Converts numbers, and names without quotes.
Json to_json(const std::string& value, const std::string& option, bool is_name) {
  const bool is_number = value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
  return is_number && !is_name ? number_from(value, option) : Json(value);
}

bool is_name(const Parameter& parameter) {
  return std::holds_alternative<std::string>(parameter.default_value);
}

Json to_json_list(const Setting& setting, bool are_names) {
  Json list = Json::array();
  for (const std::string& value : setting.values)
    list.push_back(to_json(value, setting.option, are_names));
  return list;
}

std::vector<std::string> settable_keys(const std::vector<Experiment>& experiments) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Experiment& experiment : experiments) {
    for (const Parameter& parameter : experiment.family->parameters) {
      if (seen.insert(parameter.name).second) keys.push_back(parameter.name);
    }
  }
  keys.emplace_back("modes");
  keys.emplace_back("counters");
  for (const MeasureKey& key : kMeasureKeys)
    keys.push_back(fmt::format("{}{}", kMeasurePrefix, key.name));
  return keys;
}

void set_axis(const Setting& setting, const Parameter& parameter, Experiment& experiment) {
  const Json list = to_json_list(setting, is_name(parameter));
  std::vector<AxisItem> items = read_axis_items(
      Node(list, setting.option, member_path(experiment.name, setting.key)), parameter);
  const auto axis = std::ranges::find(experiment.axes, parameter.name, &Axis::parameter);
  if (axis != experiment.axes.end()) {
    axis->items = std::move(items);
    axis->option = setting.option;
    return;
  }
  experiment.axis_groups.push_back({experiment.axes.size()});
  experiment.axes.push_back({parameter.name, std::move(items), setting.option});
}

// Applies the setting. Returns whether the experiment has the setting's key.
bool set(const Setting& setting, Experiment& experiment) {
  const std::string path = fmt::format("{}.{}", experiment.name, setting.key);
  if (setting.key == "modes") {
    const Json list = to_json_list(setting, true);
    experiment.modes = read_modes(Node(list, setting.option, path));
    return true;
  }
  if (setting.key == "counters") {
    const Json list = to_json_list(setting, true);
    experiment.counters = read_counters(Node(list, setting.option, path));
    return true;
  }
  for (const MeasureKey& key : kMeasureKeys) {
    if (setting.key != fmt::format("{}{}", kMeasurePrefix, key.name)) continue;
    const Json list = to_json_list(setting, false);
    const Json& value = list.size() == 1 ? list.at(0) : list;
    read_measure_setting(Node(value, setting.option, path), key, experiment.measure);
    return true;
  }
  const Parameter* parameter = experiment.family->find_parameter(setting.key);
  if (parameter) set_axis(setting, *parameter, experiment);
  return parameter != nullptr;
}

// Checks experiments only after all settings are applied, because settings depend on each other.
void apply_sets(const std::vector<std::string>& sets, std::vector<Experiment>& experiments) {
  std::set<std::string> keys;
  for (const std::string& text : sets) {
    const Setting setting = parse_setting(text);
    if (!keys.insert(setting.key).second) {
      throw ConfigError(fmt::format("{}: '{}' is set twice", setting.option, shorten(setting.key)));
    }
    bool is_known = false;
    for (Experiment& experiment : experiments)
      is_known |= set(setting, experiment);
    if (!is_known) {
      throw ConfigError(fmt::format("{}: unknown key '{}'{}", setting.option, shorten(setting.key),
                                    allowed_names(setting.key, settable_keys(experiments))));
    }
  }
  const Json none;
  double cells = 0;
  for (const Experiment& experiment : experiments) {
    const Node place(none, "--set", experiment.name);
    check_axes(experiment, place);
    check_measure(experiment.measure, place);
    cells += count_cells(experiment);
    check_cells(cells, place);
  }
}

std::string full_name(const Experiment& experiment, const Variant& variant) {
  return experiment.family->id + "/" + variant.id;
}

void check_filters(const std::vector<std::string>& globs,
                   const std::vector<Experiment>& experiments) {
  std::set<std::string> names;
  for (const Experiment& experiment : experiments) {
    for (const Variant* variant : experiment.variants)
      names.insert(full_name(experiment, *variant));
  }
  for (const std::string& glob : globs) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return glob_match(glob, name); }))
      continue;
    throw ConfigError(fmt::format("--filter {}: matches nothing that the config selects{}",
                                  shorten(glob),
                                  allowed_names(glob, {names.begin(), names.end()})));
  }
}

void apply_filters(const std::vector<std::string>& globs, std::vector<Experiment>& experiments) {
  check_filters(globs, experiments);
  for (Experiment& experiment : experiments) {
    const auto is_out = [&](const Variant* variant) {
      return variant && std::ranges::none_of(globs, [&](const std::string& glob) {
               return glob_match(glob, full_name(experiment, *variant));
             });
    };
    std::erase_if(experiment.variants, is_out);
    if (is_out(experiment.baseline)) experiment.baseline = nullptr;
  }
  std::erase_if(experiments, [](const Experiment& e) { return e.variants.empty(); });
}

}  // namespace

Value value_of(const std::string& text, const Parameter& parameter, const std::string& source) {
  const Json json = to_json(text, source, is_name(parameter));
  return read_value(Node(json, source, parameter.name), parameter);
}

void apply_overrides(const ConfigOverrides& overrides, Config& config) {
  if (overrides.seed) config.seed = *overrides.seed;
  if (!overrides.filters.empty()) apply_filters(overrides.filters, config.experiments);
  if (!overrides.sets.empty()) apply_sets(overrides.sets, config.experiments);
}

}  // namespace gpuexp
