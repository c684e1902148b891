// The axes of an experiment: expansion into lists of values, and zipping.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

Value read_value(const Node& node, const Parameter& parameter);

/// Reads a value, {"from", "to", "step"}, {"pow2"}, {"wave_edges"}, or a list of these, and
/// expands them to at most kMaxCells items. Keeps duplicates.
std::vector<AxisItem> read_axis_items(const Node& node, const Parameter& parameter);

void read_axes(const Node& node, Experiment& experiment);

/// Fails at `place` if zipped axes differ in length or contain wave_edges, or if several axes
/// contain wave_edges.
void check_axes(const Experiment& experiment, const Node& place);

/// Removes repeated values of an axis and repeated tuples of zipped axes, so that no problem is
/// measured twice. Duplicates arise from overlapping ranges and values.
void drop_repetitions(Experiment& experiment);

/// Number of problems × variants × modes; wave_edges count as one value.
double count_cells(const Experiment& experiment);

/// Fails at `place`, the experiment counted last, if `cells` exceeds kMaxCells.
void check_cells(double cells, const Node& place);

}  // namespace gpuexp
