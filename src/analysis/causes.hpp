// The cause of a measured factor, with its confidence.
#pragma once

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Sets cause, resources and confidence of an explanation whose bounds are set, and the factor by
/// latency or atomics.
void find_cause(Explanation& explanation, const DeviceRates& rates);

}  // namespace gpuexp
