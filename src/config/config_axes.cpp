#include "config/config_axes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/names.hpp"
#include "config/config_keys.hpp"

namespace gpuexp {

namespace {

bool is_integer(const Parameter& p) {
  return std::holds_alternative<std::int64_t>(p.default_value);
}
bool is_text(const Parameter& p) {
  return std::holds_alternative<std::string>(p.default_value);
}

Bounds bounds_of(const Parameter& p) {
  return {p.min, p.max, false, fmt::format("{}: {}", p.name, p.doc)};
}

// Tolerance for the rounding error of (to - from) / step, in steps.
constexpr double kStepSlack = 1e-9;

// Rounds to 15 significant digits: the third step of 0.1 is 0.3, not 0.30000000000000004.
double as_written(double value) {
  return std::strtod(fmt::format("{:.15g}", value).c_str(), nullptr);
}

struct IntegerRange {
  std::int64_t from;
  std::int64_t to;
};

class AxisReader {
 public:
  explicit AxisReader(const Parameter& parameter) : parameter_(parameter) {}

  void read(const Node& node) {
    if (!node.json().is_array()) return add(node);
    check_room(node, static_cast<double>(node.json().size()));
    for (const Node& item : node.items("a value, or a list of at least one"))
      add(item);
  }

  std::vector<AxisItem> take() { return std::move(items_); }

 private:
  void add(const Node& node) {
    if (!node.json().is_object() || is_text(parameter_)) {
      check_room(node, 1);
      items_.emplace_back(read_value(node, parameter_));
      return;
    }
    check_form(node);
    if (node.find("pow2")) return add_pow2(node);
    if (node.find("wave_edges")) return add_wave_edges(node);
    if (is_integer(parameter_)) return add_integer_range(node);
    add_real_range(node);
  }

  // Accepts the keys of all forms, so that the message for a misspelt key suggests all of them.
  static void check_form(const Node& node) {
    std::vector<Key> keys(kRangeKeys.begin(), kRangeKeys.end());
    keys.insert(keys.end(), kPow2Keys.begin(), kPow2Keys.end());
    keys.insert(keys.end(), kWaveEdgesKeys.begin(), kWaveEdgesKeys.end());
    node.check_keys(keys);
    if (node.json().empty()) {
      node.fail(
          R"(expected {"from", "to", "step"}, {"pow2"} or {"wave_edges"}, found an empty object)");
    }
  }

  void check_room(const Node& node, double count) const {
    if (static_cast<double>(items_.size()) + count > static_cast<double>(kMaxCells))
      node.fail(fmt::format("the axis has more than {} values", kMaxCells));
  }

  IntegerRange read_integer_range(const Node& node) const {
    const Bounds bounds = bounds_of(parameter_);
    const IntegerRange range{node.require("from").integer(bounds),
                             node.require("to").integer(bounds)};
    if (range.from > range.to)
      node.fail(fmt::format("'from' is {}, above 'to', which is {}", range.from, range.to));
    return range;
  }

  void add_integer_range(const Node& node) {
    node.check_keys(kRangeKeys);
    const auto [from, to] = read_integer_range(node);
    const std::int64_t step = node.require("step").integer(
        {1, std::max(1.0, parameter_.max - parameter_.min), false, "step of " + parameter_.name});
    // Unsigned, because to - from may exceed int64.
    const std::uint64_t steps =
        (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) /
        static_cast<std::uint64_t>(step);
    check_room(node, static_cast<double>(steps) + 1);
    for (std::uint64_t i = 0; i <= steps; ++i)
      items_.emplace_back(Value(from + static_cast<std::int64_t>(i) * step));
  }

  void add_real_range(const Node& node) {
    node.check_keys(kRangeKeys);
    const Bounds bounds = bounds_of(parameter_);
    const double from = node.require("from").real(bounds);
    const double to = node.require("to").real(bounds);
    if (from > to) node.fail(fmt::format("'from' is {}, above 'to', which is {}", from, to));
    const double step = node.require("step").real(
        {0, parameter_.max - parameter_.min, true, "step of " + parameter_.name});
    const double steps = std::floor((to - from) / step + kStepSlack);
    check_room(node, steps + 1);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(steps); ++i) {
      const double value = as_written(from + static_cast<double>(i) * step);
      items_.emplace_back(Value(std::clamp(value, from, to)));
    }
  }

  void add_pow2(const Node& node) {
    node.check_keys(kPow2Keys);
    const Node pair = node.require("pow2");
    const std::vector<Node> ends = pair.items("a list of two powers of two");
    if (ends.size() != 2)
      pair.fail(
          fmt::format("expected a list of two powers of two, found a list of {}", ends.size()));
    const std::int64_t low = read_power(ends[0]);
    const std::int64_t high = read_power(ends[1]);
    if (low > high) pair.fail(fmt::format("{} is above {}", low, high));
    for (std::int64_t value = low;; value *= 2) {
      check_room(node, 1);
      if (is_integer(parameter_)) {
        items_.emplace_back(Value(value));
      } else {
        items_.emplace_back(Value(static_cast<double>(value)));
      }
      if (value == high) break;
    }
  }

  std::int64_t read_power(const Node& node) const {
    const std::int64_t value = node.integer(bounds_of(parameter_));
    if (value < 1) node.fail(fmt::format("{} is not a power of two; the smallest is 1", value));
    const auto bits = static_cast<std::uint64_t>(value);
    if (std::has_single_bit(bits)) return value;
    const std::uint64_t below = std::bit_floor(bits);
    const std::uint64_t nearest = bits - below <= 2 * below - bits ? below : 2 * below;
    node.fail(fmt::format("{} is not a power of two; the nearest is {}", value, nearest));
  }

  void add_wave_edges(const Node& node) {
    node.check_keys(kWaveEdgesKeys);
    if (!is_integer(parameter_)) {
      node.fail(fmt::format("wave_edges need an integer parameter; {} is a real number",
                            parameter_.name));
    }
    const Node range = node.require("wave_edges");
    range.check_keys(kWaveEdgesRangeKeys);
    const auto [from, to] = read_integer_range(range);
    check_room(node, 1);
    const double sizes = static_cast<double>(to) - static_cast<double>(from) + 1;
    if (sizes > static_cast<double>(kMaxCells)) {
      range.fail(fmt::format("spans {} sizes, all of which are checked; allowed: at most {}", sizes,
                             kMaxCells));
    }
    items_.emplace_back(WaveEdges{from, to});
  }

  const Parameter& parameter_;
  std::vector<AxisItem> items_;
};

bool holds_wave_edges(const Axis& axis) {
  return std::ranges::any_of(
      axis.items, [](const AxisItem& i) { return std::holds_alternative<WaveEdges>(i); });
}

std::vector<std::size_t> read_zip_list(const Node& node, const std::vector<Axis>& axes,
                                       std::vector<bool>& zipped) {
  std::vector<std::string> names(axes.size());
  std::transform(axes.begin(), axes.end(), names.begin(),
                 [](const Axis& axis) { return axis.parameter; });
  std::vector<std::size_t> group;
  for (const Node& item : node.items("a list of axes")) {
    const std::string name = item.one_of(names, "axis");
    const auto index =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (zipped[index]) item.fail(fmt::format("axis '{}' is zipped twice", name));
    zipped[index] = true;
    group.push_back(index);
  }
  if (group.size() < 2) node.fail("expected two axes or more to advance together, found one");
  return group;
}

// Groups of zipped axes, and a group for each other axis, ordered by their first axes.
std::vector<std::vector<std::size_t>> read_groups(const Node& node, const std::vector<Axis>& axes) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> zipped(axes.size(), false);
  if (const auto zip = node.find("zip")) {
    for (const Node& list : zip->items("a list of lists of axes"))
      groups.push_back(read_zip_list(list, axes, zipped));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!zipped[i]) groups.push_back({i});
  }
  for (auto& group : groups)
    std::ranges::sort(group);
  std::ranges::sort(groups);
  return groups;
}

}  // namespace

Value read_value(const Node& node, const Parameter& parameter) {
  if (is_text(parameter)) return node.one_of(parameter.choices, parameter.name);
  if (is_integer(parameter)) return node.integer(bounds_of(parameter));
  return node.real(bounds_of(parameter));
}

std::vector<AxisItem> read_axis_items(const Node& node, const Parameter& parameter) {
  AxisReader reader(parameter);
  reader.read(node);
  return reader.take();
}

void read_axes(const Node& node, Experiment& experiment) {
  if (const auto axes = node.find("axes")) {
    for (const auto& [name, axis] : axes->members("an object of parameters and their values")) {
      const Parameter* parameter = experiment.family->find_parameter(name);
      if (!parameter) {
        axis.fail(fmt::format("unknown parameter of family '{}'{}", experiment.family->id,
                              allowed_names(name, names_of(experiment.family->parameters))));
      }
      experiment.axes.push_back({name, read_axis_items(axis, *parameter)});
    }
  }
  experiment.axis_groups = read_groups(node, experiment.axes);
}

void check_axes(const Experiment& experiment, const Node& place) {
  const Axis* with_edges = nullptr;
  for (const Axis& axis : experiment.axes) {
    if (!holds_wave_edges(axis)) continue;
    if (with_edges) {
      place.fail(fmt::format(
          "axes '{}' and '{}' both hold wave_edges; only one axis of an experiment may hold them",
          with_edges->parameter, axis.parameter));
    }
    with_edges = &axis;
  }
  for (const auto& group : experiment.axis_groups) {
    const Axis& first = experiment.axes[group.front()];
    for (const std::size_t index : group) {
      const Axis& axis = experiment.axes[index];
      if (group.size() > 1 && holds_wave_edges(axis)) {
        place.fail(
            fmt::format("axis '{}' holds wave_edges, whose number depends on the device, and "
                        "cannot be zipped",
                        axis.parameter));
      }
      if (axis.items.size() != first.items.size()) {
        place.fail(
            fmt::format("zipped axes need the same number of values; '{}' has {}, '{}' has {}",
                        first.parameter, first.items.size(), axis.parameter, axis.items.size()));
      }
    }
  }
}

void drop_repetitions(Experiment& experiment) {
  for (const auto& group : experiment.axis_groups) {
    const auto items = [&](std::size_t index) -> std::vector<AxisItem>& {
      return experiment.axes[index].items;
    };
    const auto before = [&](std::size_t a, std::size_t b) {
      const auto different = std::ranges::find_if(
          group, [&](std::size_t index) { return items(index)[a] != items(index)[b]; });
      return different != group.end() && items(*different)[a] < items(*different)[b];
    };
    // A stable sort puts equal tuples next to each other, with the tuple written first in front.
    std::vector<std::size_t> order(items(group.front()).size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Ascending items, such as the items of a range, are distinct and need no sort.
    const auto descends = [&](std::size_t a, std::size_t b) { return !before(a, b); };
    if (std::adjacent_find(order.begin(), order.end(), descends) == order.end()) continue;
    std::ranges::stable_sort(order, before);
    std::vector<bool> is_repeated(order.size());
    for (std::size_t i = 1; i < order.size(); ++i)
      is_repeated[order[i]] = !before(order[i - 1], order[i]);
    for (const std::size_t index : group) {
      std::size_t at = 0;
      std::erase_if(items(index), [&](const AxisItem&) { return is_repeated[at++]; });
    }
  }
}

double count_cells(const Experiment& experiment) {
  double cells = static_cast<double>(experiment.variants.size() * experiment.modes.size());
  for (const auto& group : experiment.axis_groups)
    cells *= static_cast<double>(experiment.axes[group.front()].items.size());
  return cells;
}

void check_cells(double cells, const Node& place) {
  if (cells > static_cast<double>(kMaxCells)) {
    place.fail(
        fmt::format("the experiments up to this one have {} cells (problem × variant × mode); "
                    "allowed: at most {}",
                    cells, kMaxCells));
  }
}

}  // namespace gpuexp
