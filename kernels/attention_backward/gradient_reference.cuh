// Inputs and reference of attention's gradients; gradient_reference.cu defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/attention_steps.cuh"

namespace gpuexp::attention_backward {

using namespace attention;

/// Fills Q, K, V, O, dO, the stored weights P and log_sum from `seed`.
Steps inputs(const Problem& p, const Data& d, std::uint64_t seed);

/// Computes in fp64 each output that has a view: dQ, dK, dV, and dQ and dK from stored weights.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out);

}  // namespace gpuexp::attention_backward
