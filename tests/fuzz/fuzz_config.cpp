#include "config/config_axes.hpp"
#include "config/config_keys.hpp"
#include "config/config_reader.hpp"
#include "fuzz/promises.hpp"
#include "support/fake_family.hpp"

namespace gpuexp::fuzz {

namespace {

void check(const Experiment& e) {
  require(e.family && !e.variants.empty() && !e.modes.empty(), "an experiment has cells");
  std::vector<int> groups_of(e.axes.size());
  for (const auto& group : e.axis_groups) {
    for (const std::size_t axis : group) {
      ++groups_of.at(axis);
      require(e.axes[axis].items.size() == e.axes[group.front()].items.size(),
              "zipped axes are equally long");
    }
  }
  for (std::size_t i = 0; i < e.axes.size(); ++i) {
    require(groups_of[i] == 1, "every axis is in one group");
    require(!e.axes[i].items.empty(), "an axis has values");
    const Parameter* parameter = e.family->find_parameter(e.axes[i].parameter);
    require(parameter, "an axis has a parameter");
    for (const AxisItem& item : e.axes[i].items) {
      if (const auto* value = std::get_if<Value>(&item)) {
        require(value->index() == parameter->default_value.index(),
                "a value has its parameter's type");
      }
    }
  }
}

}  // namespace

void fuzz_config(std::string_view text) {
  try {
    const Config config = parse_config(std::string(text), "fuzz.json", fake::registry());
    double cells = 0;
    for (const Experiment& e : config.experiments) {
      check(e);
      cells += count_cells(e);
    }
    require(cells > 0 && cells <= static_cast<double>(kMaxCells), "a config has cells, in bounds");
    require(config.text == text, "the text is kept");
  } catch (const ConfigError& e) {
    check_message(e, "fuzz.json");
  }
}

}  // namespace gpuexp::fuzz
