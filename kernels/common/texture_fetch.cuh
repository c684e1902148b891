// Fetches of texture objects in linear memory, of words of 32 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cuda_runtime.h>

namespace gpuexp {

/// As tex1Dfetch, but volatile: the compiler keeps it between two readings of a clock, and fetches
/// again in each pass over the same texels. Of a texel's words, those that nobody uses are not
/// asked for; those that it does not have are of no meaning.
__device__ inline uint4 fetch_texel(cudaTextureObject_t texture, unsigned texel) {
  uint4 v;
  asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(texture), "r"(texel)
               : "memory");
  return v;
}

/// Why no texture of linear memory has so many.
inline std::optional<std::string> too_many_texels(std::int64_t texels) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // cudaDevAttrMaxTexture1DLinearWidth
  if (texels <= kMost) return std::nullopt;
  return "needs " + std::to_string(texels) +
         " texels, of which a texture of linear memory has at most " + std::to_string(kMost);
}

}  // namespace gpuexp
