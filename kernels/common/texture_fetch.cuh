// Fetches from texture objects in linear memory with 32-bit texels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cuda_runtime.h>

namespace gpuexp {

/// Like tex1Dfetch, but volatile: the compiler keeps the fetch between two reads of a clock, and
/// repeats it in each pass over the same texels. Only words of the result that the code uses are
/// requested. Words that the texel does not have are undefined.
__device__ inline uint4 fetch_texel(cudaTextureObject_t texture, unsigned texel) {
  uint4 v;
  asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(texture), "r"(texel)
               : "memory");
  return v;
}

/// The reason why a texture in linear memory cannot have `texels` texels; nullopt if it can.
inline std::optional<std::string> too_many_texels(std::int64_t texels) {
  constexpr std::int64_t kMaxTexels = std::int64_t{1} << 28;  // cudaDevAttrMaxTexture1DLinearWidth
  if (texels <= kMaxTexels) return std::nullopt;
  return "needs " + std::to_string(texels) + " texels; a texture in linear memory has at most " +
         std::to_string(kMaxTexels);
}

}  // namespace gpuexp
