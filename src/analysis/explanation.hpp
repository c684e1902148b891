// Why a variant is faster or slower than its compare_to: the factor between the times, the amounts
// that changed, and whether the amounts account for the factor.
//
// An amount is a resource's counted work. Divided by the device's rate, it is a lower bound on the
// resource's time (least_times). The longest of these times plus the launch is the variant's bound.
// The bounds of kernels that run one after another are summed. The ratio of the two variants'
// bounds is the accounted factor. It does not depend on the measured times, so it can disagree with
// the measured factor.
//
// The amounts explain the difference if the accounted factor is between half and double of the
// measured factor, on a logarithmic scale, and the slower variant's bound is at least half of its
// time. Confidence is high if the factors are within 15 %, the bound is at least 60 % of the time,
// and the amounts account for 3/4 to 4/3 of the difference; medium within a factor of 1.5; else
// low. If the amounts account for two to three times the difference, and the bound is at least 60 %
// of the time, they are the cause in the slower variant, and another resource limits the faster
// variant.
//
// If an amount takes longer than the measured time, the caches were in another state when it was
// counted than when the launch was timed. If it is DRAM's amount, which depends on the contents of
// L2, only another resource near its rate can explain the difference. If it is another amount,
// nothing is explained. Stall reasons and utilization follow from the time, and are never a cause.
//
// Other causes are the host, if equal kernels leave the GPU idle; atomics that L2 serialises; and
// latency, if amounts need a smaller share of the slower variant's time than of the faster
// variant's. The factor by latency follows from Little's law if the bytes in flight are known, else
// from the predicted times.
#pragma once

#include <vector>

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Explains the factor between two timed rows.
Explanation explain(const ResultRecord& reference, const ResultRecord& row,
                    const DeviceRates& rates);

struct ExplanationOptions {
  DeviceRates rates;
  bool all_problems = false;  ///< false: for each variant, only the problem with the longest time
};

/// Explanations of the variants that were timed with their compare_to, in the order of the rows.
/// Rows that are faster than their limit are left out.
std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options);

}  // namespace gpuexp
