// Sums over the elements of a result, for Variant::measured_metrics. The same blocks add the same
// elements in the same order whatever the device, so equal results give equal sums.
#pragma once

#include <array>
#include <vector>

#include "gpu/cuda_check.hpp"
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

/// Device memory that tally needs for its partial sums.
constexpr std::int64_t tally_bytes(int sums) {
  return static_cast<std::int64_t>(sizeof(double)) * detail::kTallyBlocks * sums;
}

/// Calls f(i, sums) for every i < count, where f adds what element i contributes to each of kSums
/// sums, and returns the totals. Waits for the stream.
template <int kSums, class Function>
std::array<double, kSums> tally(std::int64_t count, Function f, void* workspace, Stream stream) {
  double* d_partials = static_cast<double*>(workspace);
  detail::tally_kernel<kSums>
      <<<detail::kTallyBlocks, detail::kTallyThreads, 0, stream>>>(count, f, d_partials);
  GPUEXP_CUDA(cudaGetLastError());
  std::vector<double> partials(detail::kTallyBlocks * kSums);
  GPUEXP_CUDA(cudaMemcpyAsync(partials.data(), d_partials, partials.size() * sizeof(double),
                              cudaMemcpyDeviceToHost, stream));
  GPUEXP_CUDA(cudaStreamSynchronize(stream));
  std::array<double, kSums> totals{};
  for (std::size_t i = 0; i < partials.size(); ++i)
    totals[i % kSums] += partials[i];
  return totals;
}

}  // namespace gpuexp
