// The axes of one experiment: from what is written to lists of values, and how they combine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

/// One value of a parameter: an integer or real in its range, or one of its choices.
Value read_value(const Node& node, const Parameter& parameter);

/// A value, {"from", "to", "step"}, {"pow2"}, {"wave_edges"}, or a list of these, expanded but with
/// repetitions; at most kMaxCells items.
std::vector<AxisItem> read_axis_items(const Node& node, const Parameter& parameter);

/// Fills Experiment::axes and Experiment::axis_groups from the members "axes" and "zip" of `node`.
void read_axes(const Node& node, Experiment& experiment);

/// Fails at `place` when zipped axes differ in length or hold wave_edges, or when more than one
/// axis holds wave_edges.
void check_axes(const Experiment& experiment, const Node& place);

/// Drops values that an axis has had already and, of zipped axes, tuples: ranges and literals may
/// overlap, and no problem is to be measured twice.
void drop_repetitions(Experiment& experiment);

/// Problems × variants × modes; wave_edges count as one value.
double count_cells(const Experiment& experiment);

/// Fails at `place`, the last of the experiments counted, when they ask for more than kMaxCells.
void check_cells(double cells, const Node& place);

}  // namespace gpuexp
