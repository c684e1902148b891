// A texture object: linear memory that kernels read by texture fetches (CUDA C++ Programming Guide,
// "Texture and Surface Memory"). As an argument of a launch it stands for the kernel's parameter of
// type cudaTextureObject_t, which the launcher makes. C++17 and free of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuexp {

struct Texture {
  const void* base = nullptr;  ///< in global memory, 512-byte aligned
  /// Unsigned integers of 32 bits that one fetch reads: 1, 2 or 4.
  int words = 1;
  /// Fetches that it holds, at most 2^28 (cudaDevAttrMaxTexture1DLinearWidth).
  std::int64_t count = 0;
};

/// Of the parameter that a texture stands for.
inline constexpr std::size_t kTextureObjectBytes = 8;

}  // namespace gpuexp
