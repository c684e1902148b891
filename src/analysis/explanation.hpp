// Why a variant is faster or slower than the one that it compares to: the factor in time, the
// amounts that changed with it, and whether they account for it.
//
// The rule. What was counted, divided by the device's rates, is the least time that each resource
// needs (least_times); the longest of them, behind the launch, is the least time that the amounts
// allow a variant. Kernels one after another need the sum of what each needs. The quotient of the
// two variants' least times is the factor that the amounts account for. The measured times have no
// part in it, so that it can disagree with the measured factor. It explains the difference when it
// is between half and double of it on a logarithmic scale, and what the slower variant needs takes
// half of its time or more: what idles binds nothing. Confidence is high where the two factors are
// within 15 %, the amounts take 60 % of the time and make up three quarters of the difference,
// medium within a factor of 1.5, low beyond. Where amounts account for up to three times the
// difference, they are the cause in the slower variant, and something else holds the faster one.
//
// An amount that would need more than its rate in the measured time was counted in another state
// than was timed. Where that is DRAM's, whose bytes depend on what L2 holds, the rest explains only
// what another resource near its rate accounts for; else nothing is explained.
//
// Stall reasons and utilization are effects. They are no amounts, and no cause here.
//
// Other causes: the host, where equal kernels leave the GPU without work; atomics that L2
// serialises; and where amounts take less of the slower variant's time than of the faster one's,
// latency, by Little's law, where the bytes in flight are known, else as predictions have it, which
// add latencies to declared amounts. Nothing else is said to be a cause.
#pragma once

#include <vector>

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Of a row against another; both were timed.
Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates);

struct ExplanationOptions {
  DeviceRates rates;
  bool all_problems = false;  ///< false: of each variant the problem that takes longest
};

/// For each variant that was timed beside its compare_to, in the order of the rows. Rows that are
/// faster than their limit allows are left out.
std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options);

}  // namespace gpuexp
