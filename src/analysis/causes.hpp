// The cause of a measured factor, with its confidence.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sets cause, confidence and latency of an explanation whose bounds are set.
void find_cause(Explanation& explanation, const DeviceRates& rates);

}  // namespace gpuexp
