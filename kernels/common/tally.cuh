// Sums over the elements of a result, for Variant::measured_metrics. Grid and order of additions
// are the same on all devices, so identical results give bitwise-identical sums.
#pragma once

#include <array>

#include "kernels/common/convert.cuh"

namespace gpuexp {

namespace detail {

inline constexpr int kTallyBlocks = 1024;
inline constexpr int kTallyThreads = 256;

template <int kSums, class Function>
__global__ void tally_kernel(std::int64_t count, Function f, double* d_partials) {
  double sums[kSums] = {};
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    f(i, sums);
  }
  __shared__ double scratch[kTallyThreads];
  for (int s = 0; s < kSums; ++s) {
    scratch[threadIdx.x] = sums[s];
    for (int half = kTallyThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    }
    if (threadIdx.x == 0) d_partials[blockIdx.x * kSums + s] = scratch[0];
    __syncthreads();
  }
}

}  // namespace detail

/// Size of tally()'s workspace in bytes.
constexpr std::int64_t tally_bytes(int sums) {
  return static_cast<std::int64_t>(sizeof(double)) * detail::kTallyBlocks * sums;
}

template <int kSums>
using Totals = std::array<double, kSums>;

/// Reduces the partial sums of tally() to one total per sum.
template <int kSums>
Totals<kSums> totals(const void* partial_sums) {
  const double* const partials = static_cast<const double*>(partial_sums);
  Totals<kSums> sums{};
  for (int i = 0; i < detail::kTallyBlocks * kSums; ++i)
    sums[static_cast<std::size_t>(i % kSums)] += partials[i];
  return sums;
}

/// Calls f(i, sums) for every i < count, where f adds the contributions of element i to kSums
/// sums. `workspace` has tally_bytes(kSums) bytes. `values` converts the totals to metric values.
template <int kSums, class Function, class Values>
Measurement tally(std::int64_t count, Function f, void* workspace, Values values) {
  Measurement m;
  m.steps = launch(detail::tally_kernel<kSums, Function>,
                   shape_of_blocks(detail::kTallyBlocks, detail::kTallyThreads), count, f,
                   static_cast<double*>(workspace));
  m.from = workspace;
  m.bytes = tally_bytes(kSums);
  m.values = [values](const void* copied) { return values(totals<kSums>(copied)); };
  return m;
}

}  // namespace gpuexp
