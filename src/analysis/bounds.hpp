// What the amounts of two variants allow, and the factor that they account for.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Fills in what amounts and rates say of the pair: bounds, misfit, accounted factors.
void add_bounds(Explanation& explanation, const DeviceRates& rates);

}  // namespace gpuexp
