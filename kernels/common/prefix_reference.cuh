// Prefix sums in fp64 for references: within parts of 4096 elements, over the parts, then of all
// elements.
#pragma once

#include "kernels/common/reference.cuh"

namespace gpuexp {

namespace detail {

constexpr std::int64_t kPrefixPart = 4096;

template <class Function>
__global__ void prefix_in_parts_kernel(double* to, std::int64_t count, Function f) {
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  double sum = 0;
  for (std::int64_t i = part * kPrefixPart; i < min((part + 1) * kPrefixPart, count); ++i)
    to[i] = sum += f(i).value;
}

inline __global__ void prefix_over_parts_kernel(double* to, std::int64_t count) {
  for (std::int64_t last = 2 * kPrefixPart - 1; last < count; last += kPrefixPart)
    to[last] += to[last - kPrefixPart];
}

inline __global__ void prefix_of_all_kernel(double* to, std::int64_t count) {
  for_items_of_thread(count, [&](std::int64_t i) {
    const std::int64_t part = i / kPrefixPart;
    if (part > 0 && i % kPrefixPart != kPrefixPart - 1) to[i] += to[part * kPrefixPart - 1];
  });
}

}  // namespace detail

/// Sets to[i] = f(0) + … + f(i) for i < count. f is a functor as for evaluate_reference(); only
/// its value is used.
template <class Function>
Steps prefix_reference(double* to, std::int64_t count, Function f) {
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  const std::int64_t parts = ceil_div(count, detail::kPrefixPart);
  const HostLoop on_host{1, [=](std::int64_t, std::int64_t) {
                           double sum = 0;
                           for (std::int64_t i = 0; i < count; ++i)
                             to[i] = sum += f(i).value;
                         }};
  const HostLoop no_work{0, [](std::int64_t, std::int64_t) {}};
  return with_host_loop(launch(detail::prefix_in_parts_kernel<Function>, grid_stride(parts, parts),
                               to, count, f),
                        on_host) +
         with_host_loop(launch(detail::prefix_over_parts_kernel, Shape{}, to, count), no_work) +
         with_host_loop(
             launch(detail::prefix_of_all_kernel, grid_stride(count, kMaxBlocks), to, count),
             no_work);
}

}  // namespace gpuexp
