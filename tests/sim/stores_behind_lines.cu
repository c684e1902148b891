#include "kernels/common/launch.cuh"
#include "sim/stores_behind_lines.hpp"

namespace gpuexp::test {

namespace behind {

template <int kLoads>
__global__ void __launch_bounds__(1024)
    stores_kernel(int iterations, const unsigned* lines, unsigned* sink) {
  __shared__ unsigned words[1024 * kLoads];
  constexpr unsigned kLanes = 32;
  const unsigned warp = threadIdx.x / kLanes;
  const unsigned lane = threadIdx.x % kLanes;
  const auto own = static_cast<unsigned>(__cvta_generic_to_shared(words)) + threadIdx.x * 4;
  unsigned random = 12345;
  unsigned at = warp * kLanes * kLoads + lane;
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
    random = random * 1664525u + 1013904223u;
    const unsigned wait = 200 + (random >> 26);
    unsigned x = random;
#pragma unroll 1
    for (unsigned i = 0; i < wait; ++i)
      x = x * x + 1;
    at += x == 77 ? 1 : 0;
    __syncthreads();
    unsigned loaded[kLoads];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i)
      asm volatile("ld.global.u32 %0, [%1];"
                   : "=r"(loaded[i])
                   : "l"(lines + at + i * kLanes)
                   : "memory");
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i)
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(own), "r"(loaded[i]) : "memory");
    at += blockDim.x * kLoads;
  }
  if (words[lane] == 12345) *sink = 1;
}

}  // namespace behind

Steps stores_behind_lines(int warps, int loads, int iterations, const unsigned* lines,
                          unsigned* sink) {
  Shape s;
  s.block = {warps * 32, 1, 1};
  s.grid = {1, 1, 1};
  return loads == 1 ? launch(behind::stores_kernel<1>, s, iterations, lines, sink)
                    : launch(behind::stores_kernel<4>, s, iterations, lines, sink);
}

}  // namespace gpuexp::test
