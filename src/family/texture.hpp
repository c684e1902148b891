// A texture object: linear memory for texture fetches (CUDA C++ Programming Guide, "Texture and
// Surface Memory"). As a launch argument it represents the kernel's parameter of type
// cudaTextureObject_t, which the launcher creates. C++17 and free of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuexp {

struct Texture {
  const void* base = nullptr;  ///< in global memory, 512-byte aligned
  /// 32-bit unsigned integers per fetch: 1, 2 or 4.
  int words = 1;
  /// Number of fetches in the memory, at most 2^28 (cudaDevAttrMaxTexture1DLinearWidth).
  std::int64_t count = 0;
};

inline constexpr std::size_t kTextureObjectBytes = 8;

}  // namespace gpuexp
