// Lower bounds on the times of two variants, and the factor between them.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sets bounds, misfit and accounted factors of the explanation from the counts and the device's
/// rates.
void add_bounds(Explanation& explanation, const DeviceRates& rates);

}  // namespace gpuexp
