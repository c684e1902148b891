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

/// to[where(i)] = values[i] for i < count; `where` is a __host__ __device__ functor that gives no
/// place twice. What lies between the places has been filled before.
template <class T, class Function>
Steps scatter(const T* values, T* to, std::int64_t count, Function where) {
  return with_host_loop(launch(detail::scatter_kernel<T, Function>, grid_stride(count, 65536),
                               values, to, count, where),
                        {count, [values, to, where](std::int64_t first, std::int64_t end) {
                           for (std::int64_t i = first; i < end; ++i)
                             to[where(i)] = values[i];
                         }});
}

}  // namespace gpuexp
