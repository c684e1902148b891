// The reference of a transformer block in training, and the tolerances of its arrays.
#pragma once

#include "kernels/common/training_block_data.cuh"
#include "kernels/common/training_family.cuh"

namespace gpuexp::training_block {

/// Steps that evaluate the reference in fp64 for each output that has a view.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out);

/// Tolerance of LayerNorm with given means and deviations, or of its gradient; both may be rounded
/// twice.
Tolerance norm_tolerance_of(const Problem& p);
/// Tolerance of the means and of 1/deviation.
Tolerance statistics_tolerance(const Problem& p);
Tolerance attention_tolerance(const Problem& p);
Tolerance log_sum_tolerance(const Problem& p);
/// Tolerance of dq, dk or dv.
Tolerance attention_gradient_tolerance(const Problem& p, Output o);
std::string block_derivation();

}  // namespace gpuexp::training_block
