#include "config/config_figures.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "config/config_axes.hpp"
#include "config/config_experiment.hpp"
#include "config/config_keys.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kMetric = "metric.";
constexpr std::string_view kCounter = "counter.";

// Columns that claims may name for any family, with their units.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFixedColumns{
    {{"time_median_us", "us"},
     {"useful_gb_per_s", "GB/s"},
     {"moved_gb_per_s", "GB/s"},
     {"tflops", "TFLOP/s"},
     {"kernel_launches", ""},
     {"grid_blocks", ""},
     {"waves", ""},
     {"operations", ""},
     {"useful_bytes", "B"},
     {"moved_bytes", "B"}}};

std::vector<std::string> column_names(const Family& family) {
  std::vector<std::string> names;
  for (const auto& [name, unit] : kFixedColumns)
    names.emplace_back(name);
  for (const Metric& metric : family.metrics)
    names.push_back(std::string(kMetric) + metric.name);
  for (const Counter& counter : kCounters)
    names.push_back(fmt::format("{}{}", kCounter, counter.id));
  return names;
}

Field field_of(const Value& value) {
  return std::visit([](const auto& v) { return Field(v); }, value);
}

std::string text_at(const Node& node, std::string_view key) {
  const Node member = node.require(key);
  std::string text = member.text();
  if (text.empty()) member.fail("expected a non-empty text");
  return text;
}

// ---- rows

const Field* find_parameter(const ClaimedRow& row, const std::string& name) {
  for (const auto& [parameter, value] : row.parameters) {
    if (parameter == name) return &value;
  }
  return nullptr;
}

// Number of different steps of a group of axes that match the row's parameters. Wave edges are
// unknown without a device. They match any value that the row names and the config does not list,
// and count as several values if the row names no value.
std::size_t matching_steps(const Experiment& experiment, const std::vector<std::size_t>& axes,
                           const ClaimedRow& row) {
  constexpr std::size_t kSeveral = 2;
  std::set<std::vector<AxisItem>> matching;
  bool has_edges = false;
  for (std::size_t step = 0; step < experiment.axes[axes.front()].items.size(); ++step) {
    std::vector<AxisItem> items;
    bool matches = true;
    for (const std::size_t a : axes) {
      const Axis& axis = experiment.axes[a];
      const Field* named = find_parameter(row, axis.parameter);
      const auto* value = std::get_if<Value>(&axis.items[step]);
      if (!value && !named) return kSeveral;
      has_edges |= !value;
      matches &= value && (!named || field_of(*value) == *named);
      items.push_back(axis.items[step]);
    }
    if (matches) matching.insert(items);
  }
  return matching.empty() && has_edges ? 1 : matching.size();
}

bool is_swept(const Experiment& experiment, const std::string& parameter) {
  return std::ranges::any_of(experiment.axes,
                             [&](const Axis& axis) { return axis.parameter == parameter; });
}

void read_parameters(const Node& node, const Experiment& experiment, ClaimedRow& row) {
  const auto at = node.find("at");
  for (const auto& [name, value] :
       at ? at->members("an object of parameters") : std::vector<std::pair<std::string, Node>>{}) {
    const Parameter* parameter = experiment.family->find_parameter(name);
    if (!parameter) {
      value.fail(fmt::format("unknown parameter{}",
                             allowed_names(name, names_of(experiment.family->parameters))));
    }
    const Value given = read_value(value, *parameter);
    if (!is_swept(experiment, name) && given != parameter->default_value) {
      value.fail(fmt::format("experiment '{}' has only {} = {}", experiment.name, name,
                             to_string(parameter->default_value)));
    }
    row.parameters.emplace_back(name, field_of(given));
  }
  const Node place = at.value_or(node);
  for (const auto& axes : experiment.axis_groups) {
    std::vector<std::string> names;
    for (const std::size_t a : axes)
      names.push_back(experiment.axes[a].parameter);
    const std::size_t steps = matching_steps(experiment, axes, row);
    if (steps == 0) {
      place.fail(fmt::format("experiment '{}' does not have this value of {}", experiment.name,
                             fmt::join(names, ", ")));
    }
    if (steps > 1) {
      place.fail(fmt::format("experiment '{}' has several values of {}; name one in \"at\"",
                             experiment.name, fmt::join(names, ", ")));
    }
  }
}

const Experiment& named_experiment(const Node& node, const std::vector<Experiment>& experiments) {
  const std::string name =
      node.require("experiment").one_of(names_of(experiments), "experiment of this config");
  return *std::ranges::find(experiments, name, &Experiment::name);
}

ClaimedRow read_row(const Node& node, const std::vector<Experiment>& experiments) {
  node.check_keys(kClaimedRowKeys);
  const Experiment& experiment = named_experiment(node, experiments);
  ClaimedRow row;
  row.experiment = experiment.name;
  std::vector<std::string> variants;
  for (const Variant* variant : experiment.variants)
    variants.push_back(variant->id);
  row.variant = node.require("variant").one_of(
      variants, fmt::format("variant of experiment '{}'", experiment.name));
  std::vector<std::string> modes;
  for (const Mode mode : experiment.modes)
    modes.emplace_back(name_of(mode));
  const auto mode = node.find("mode");
  if (!mode && modes.size() > 1)
    node.fail(fmt::format("experiment '{}' has several modes; name one", experiment.name));
  row.mode = mode ? mode->one_of(modes, fmt::format("mode of experiment '{}'", experiment.name))
                  : modes.front();
  read_parameters(node, experiment, row);
  if (const auto times = node.find("times"))
    row.times = times->integer({1, kMaxTimes, false, "number of times the row is added"});
  return row;
}

std::vector<ClaimedRow> read_rows(const Node& node, const std::vector<Experiment>& experiments) {
  if (node.json().is_object()) return {read_row(node, experiments)};
  std::vector<ClaimedRow> rows;
  for (const Node& item : node.items("a row, or a list of rows"))
    rows.push_back(read_row(item, experiments));
  return rows;
}

// ---- claims

const Family& family_of(const ClaimedRow& row, const std::vector<Experiment>& experiments) {
  return *std::ranges::find_if(experiments, [&](const Experiment& e) {
            return e.name == row.experiment;
          })->family;
}

struct ReadColumns {
  std::vector<std::string> names;
  std::string unit;
};

// Reads "columns": one column, or a list of columns of the rows.
ReadColumns read_columns(const Node& node, const std::vector<ClaimedRow>& rows,
                         const std::vector<Experiment>& experiments) {
  const std::vector<Node> items =
      node.json().is_array() ? node.items("a column, or a list of columns") : std::vector{node};
  ReadColumns columns;
  for (const Node& item : items) {
    const std::string name = item.text();
    for (const ClaimedRow& row : rows) {
      const Family& family = family_of(row, experiments);
      const auto unit = unit_of_claim_column(name, family);
      if (!unit) {
        item.fail(fmt::format("{} is not a column of a claim about family '{}'{}",
                              describe(item.json()), family.id,
                              allowed_names(name, column_names(family))));
      }
      if (!columns.names.empty() && *unit != columns.unit)
        item.fail("has a different unit than the column before it");
      columns.unit = *unit;
    }
    columns.names.push_back(name);
  }
  return columns;
}

void read_quantity(const Node& claim, const std::string& unit, Quantity& quantity,
                   const std::vector<Experiment>& experiments) {
  quantity.rows = read_rows(claim.require("rows"), experiments);
  const ReadColumns columns = read_columns(claim.require("column"), quantity.rows, experiments);
  quantity.columns = columns.names;
  const auto over = claim.find("over");
  const auto over_column = claim.find("over_column");
  if (over) {
    quantity.over = read_rows(*over, experiments);
    const ReadColumns below =
        read_columns(over_column.value_or(claim.require("column")), quantity.over, experiments);
    if (over_column) quantity.over_columns = below.names;
  } else if (over_column) {
    over_column->fail("applies to the rows of \"over\", which is missing");
  }
  const auto scale = units_per(unit, over ? "" : columns.unit);
  if (!scale) {
    const Node place = claim.require("unit");
    place.fail(over ? fmt::format("{} is not a unit of a ratio; allowed: ×, %, FLOP/B",
                                  describe(place.json()))
                    : fmt::format("{} cannot be converted to '{}', the unit of {}",
                                  describe(place.json()), columns.unit, columns.names.front()));
  }
  quantity.scale = *scale;
}

void read_band(const Node& node, Claim& claim) {
  const std::vector<Node> ends = node.items("two ratios");
  constexpr double kMaxRatio = 1e6;
  if (ends.size() != 2)
    node.fail(
        fmt::format("expected two ratios, the minimum and the maximum, found {}", ends.size()));
  claim.band_low = ends[0].real({0, 1, true, "ratio of the measured to the expected value"});
  claim.band_high =
      ends[1].real({1, kMaxRatio, false, "ratio of the measured to the expected value"});
}

Claim read_claim(const Node& node, const std::vector<Experiment>& experiments) {
  node.check_keys(kClaimKeys);
  constexpr double kMaxNumber = 1e18;
  Claim claim;
  claim.name = text_at(node, "name");
  claim.unit = node.require("unit").text();
  claim.published = node.require("published").real({0, kMaxNumber, true, "the published number"});
  read_quantity(node, claim.unit, claim.quantity, experiments);
  read_band(node.require("band"), claim);
  claim.because = text_at(node, "because");
  if (const auto text = node.find("expectation")) claim.expectation = text->text();
  return claim;
}

FigureSource read_source(const Node& node) {
  node.check_keys(kSourceKeys);
  constexpr double kMinYear = 1900;
  constexpr double kMaxYear = 2100;
  FigureSource source;
  source.author = text_at(node, "author");
  source.title = text_at(node, "title");
  source.year =
      node.require("year").integer({kMinYear, kMaxYear, false, "the year of publication"});
  source.address = text_at(node, "address");
  source.place = text_at(node, "place");
  return source;
}

PublishedFigure read_figure(const Node& node, const std::vector<Experiment>& experiments) {
  node.check_keys(kFigureKeys);
  PublishedFigure figure;
  figure.title = text_at(node, "title");
  figure.source = read_source(node.require("source"));
  figure.published_on = text_at(node, "published_on");
  if (node.find("device")) figure.device = text_at(node, "device");
  std::set<std::string> names;
  for (const Node& item : node.require("claims").items("a list of claims")) {
    figure.claims.push_back(read_claim(item, experiments));
    if (!names.insert(figure.claims.back().name).second) {
      item.require("name").fail(
          fmt::format("'{}' is the name of an earlier claim", figure.claims.back().name));
    }
  }
  return figure;
}

}  // namespace

std::optional<std::string> unit_of_claim_column(const std::string& name, const Family& family) {
  for (const auto& [column, unit] : kFixedColumns) {
    if (column == name) return std::string(unit);
  }
  if (name.starts_with(kMetric)) {
    for (const Metric& metric : family.metrics) {
      if (name.substr(kMetric.size()) == metric.name) return metric.unit;
    }
  }
  if (name.starts_with(kCounter)) {
    if (const Counter* counter = find_counter(name.substr(kCounter.size())))
      return std::string(counter->unit);
  }
  return std::nullopt;
}

std::vector<PublishedFigure> read_figures(const Node& root,
                                          const std::vector<Experiment>& experiments) {
  std::vector<PublishedFigure> figures;
  const auto list = root.find("figures");
  for (const Node& item : list ? list->items("a list of published figures") : std::vector<Node>{})
    figures.push_back(read_figure(item, experiments));
  return figures;
}

}  // namespace gpuexp
