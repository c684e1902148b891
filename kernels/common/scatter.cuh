// Laying values out for a kernel that will look for them elsewhere than at their index.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

namespace detail {
template <class T, class Function>
__global__ void scatter_kernel(const T* values, T* to, std::int64_t count, Function where) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    to[where(i)] = values[i];
  }
}
}  // namespace detail

/// to[where(i)] = values[i] for i < count; `where` is a device functor that gives no place twice.
template <class T, class Function>
void scatter(const T* values, T* to, std::int64_t count, Function where, Stream stream) {
  if (count == 0) return;
  constexpr int kBlock = 256;
  const std::int64_t blocks = ceil_div(count, kBlock);
  const unsigned grid = static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
  detail::scatter_kernel<<<grid, kBlock, 0, stream>>>(values, to, count, where);
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp
