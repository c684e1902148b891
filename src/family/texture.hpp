// A texture object: linear memory for texture fetches (CUDA C++ Programming Guide, "Texture and
// Surface Memory"). As a launch argument, it stands for the kernel's parameter of type
// cudaTextureObject_t; the launcher creates the texture object. C++17 without CUDA headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuexp {

struct Texture {
  const void* base = nullptr;  ///< in global memory, 512-byte aligned
  /// Number of 32-bit unsigned integers per fetch: 1, 2 or 4.
  int words = 1;
  /// Number of fetches in the memory, at most 2^28 (cudaDevAttrMaxTexture1DLinearWidth).
  std::int64_t count = 0;
};

inline constexpr std::size_t kTextureObjectBytes = 8;

}  // namespace gpuexp
