// Which cause accounts for a measured factor, with which confidence.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sets cause, confidence and latency of an explanation that has its bounds.
void find_cause(Explanation& explanation, const DeviceRates& rates);

}  // namespace gpuexp
