#pragma once

#include <string>

#include "analysis/explanation.hpp"

namespace gpuexp {

/// "L1's data stage", "the tensor cores (tensor_bf16_fp32 by wgmma)".
std::string resource_fragment(Resource resource, const LeastTimes& times);

/// "At the device's rates naive is bound by L1's data stage: …; coalesced …", the slower variant
/// first; "" if a bound is unknown, or if the counters do not fit and the cause is unknown.
std::string bounds_sentence(const Explanation& explanation);

/// "The DRAM counters do not fit the timed launch and are left out: …"; "" if the counters fit.
std::string misfit_sentence(const Explanation& explanation);

}  // namespace gpuexp
