// Columns of what is known of a cell before it runs, and of what its time makes of that.
#pragma once

#include <vector>

#include "record/column.hpp"

namespace gpuexp {

/// What is derived from a cell's prediction: bytes and operations, limits, predicted time,
/// occupancy.
void append_prediction_columns(std::vector<Column>& columns);

}  // namespace gpuexp
