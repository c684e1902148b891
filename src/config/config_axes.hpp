// The axes of an experiment: expansion into lists of values, and zipping.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

/// Reads a parameter's value: an integer or real in its range, or one of its choices.
Value read_value(const Node& node, const Parameter& parameter);

/// Reads a value, {"from", "to", "step"}, {"pow2"}, {"wave_edges"}, or a list of these. Expands
/// them to at most kMaxCells items and keeps repetitions.
std::vector<AxisItem> read_axis_items(const Node& node, const Parameter& parameter);

/// Fills Experiment::axes and Experiment::axis_groups from the members "axes" and "zip" of `node`.
void read_axes(const Node& node, Experiment& experiment);

/// Fails at `place` if zipped axes differ in length or contain wave_edges, or if several axes
/// contain wave_edges.
void check_axes(const Experiment& experiment, const Node& place);

/// Removes repeated values of an axis and repeated tuples of zipped axes, so that no problem is
/// measured twice. Ranges and single values may overlap.
void drop_repetitions(Experiment& experiment);

/// Number of problems × variants × modes; wave_edges count as one value.
double count_cells(const Experiment& experiment);

/// Fails at `place`, the last experiment counted, if there are more than kMaxCells.
void check_cells(double cells, const Node& place);

}  // namespace gpuexp
