// Inputs and reference of attention's gradients; gradient_reference.cu defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/attention_steps.cuh"

namespace gpuexp::attention_backward {

using namespace attention;

/// Fills Q, K, V, O, dO, the stored weights P and the rows' logarithms of sums from `seed`.
Steps inputs(const Problem& p, const Data& d, std::uint64_t seed);

/// Evaluates in fp64 those of dQ, dK, dV and of dQ and dK from stored weights that have a view.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out);

}  // namespace gpuexp::attention_backward
