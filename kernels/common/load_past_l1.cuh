// Loads that bypass L1. They are volatile, so that the compiler repeats them in each pass over an
// array.
#pragma once

#include <cuda_runtime.h>

namespace gpuexp {

__device__ inline float4 load_cg(const float4* from) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(__cvta_generic_to_global(from)));
  return v;
}
__device__ inline float load_cg(const float* from) {
  float v;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(__cvta_generic_to_global(from)));
  return v;
}

}  // namespace gpuexp
