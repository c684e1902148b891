// The reference of a transformer block in training, and how far a result may be from it.
#pragma once

#include "kernels/common/training_block_data.cuh"
#include "kernels/common/training_family.cuh"

namespace gpuexp::training_block {

/// In fp64, of the outputs that have a view.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out);

/// Of LayerNorm of given means and deviations, or of its gradient, rounded twice where dz is added.
Tolerance norm_tolerance_of(const Problem& p);
/// Of means and 1/deviations.
Tolerance statistics_tolerance(const Problem& p);
/// Of attention's result.
Tolerance attention_tolerance(const Problem& p);
Tolerance log_sum_tolerance(const Problem& p);
/// Of dq, dk or dv.
Tolerance attention_gradient_tolerance(const Problem& p, Output o);
std::string block_derivation();

}  // namespace gpuexp::training_block
