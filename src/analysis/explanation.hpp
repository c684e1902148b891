// Why a variant is faster or slower than its compare_to: the factor between the times, the amounts
// that changed, and whether the amounts account for the factor.
//
// The rule: a counted amount divided by the device's rate is a lower bound on the time of a
// resource (least_times). The longest of these plus the launch is the lower bound on the variant's
// time. For kernels that run one after another, the bounds are summed. The ratio of the two
// variants' bounds is the factor that the amounts account for. It does not use the measured times,
// so it can disagree with the measured factor. The amounts explain the difference if this factor is
// between half and double of the measured one on a logarithmic scale, and the slower variant's
// bound is at least half of its time. Confidence is high if the two factors are within 15 %, the
// bound is 60 % of the time and the amounts make up three quarters of the difference; medium within
// a factor of 1.5; else low. If the amounts account for up to three times the difference, they are
// the cause in the slower variant, and another resource limits the faster one.
//
// An amount that exceeds its rate in the measured time was counted in another state than was timed.
// If DRAM's does, whose bytes depend on the contents of L2, only another resource near its rate can
// explain the difference. If another amount does, nothing is explained.
//
// Stall reasons and utilization are effects, not amounts, and never a cause here.
//
// Other causes are the host, if equal kernels leave the GPU idle; atomics that L2 serialises; and
// latency, if amounts need a smaller share of the slower variant's time than of the faster one's.
// Latency comes from Little's law if the bytes in flight are known, else from the predicted times.
#pragma once

#include <vector>

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Explains the factor between two timed rows.
Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates);

struct ExplanationOptions {
  DeviceRates rates;
  bool all_problems = false;  ///< false: only the problem with the longest time of each variant
};

/// Explanations of the variants that were timed with their compare_to, in the order of the rows,
/// without rows that are faster than their limit.
std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options);

}  // namespace gpuexp
