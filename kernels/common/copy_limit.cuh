// A copy kernel: the lower bound on time for operations that read their input once and write the
// same number of bytes.
#pragma once

#include <cstdint>

#include "kernels/common/launch.cuh"

namespace gpuexp {

constexpr int kCopyBlock = 256;
constexpr int kCopyAccess = 16;                                     // bytes per thread
constexpr std::int64_t kCopyBlockBytes = kCopyBlock * kCopyAccess;  // bytes per block

/// `in` and `out` are aligned to 16 bytes. Bytes past the last whole 16 bytes are copied one by
/// one.
inline __global__ void __launch_bounds__(kCopyBlock)
    copy_limit_kernel(const unsigned char* in, unsigned char* out, std::int64_t bytes) {
  const std::int64_t first = blockIdx.x * kCopyBlockBytes + threadIdx.x * kCopyAccess;
  if (first + kCopyAccess <= bytes) {
    *reinterpret_cast<uint4*>(out + first) = __ldcg(reinterpret_cast<const uint4*>(in + first));
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < bytes; ++i)
      out[i] = in[i];
  }
}

/// `tile` is the extent in the family's outputs that a block with kCopyBlockBytes bytes covers.
inline Steps copy_limit(const void* in, void* out, std::int64_t bytes, Extent tile) {
  const Shape s = shape_of_blocks({ceil_div(bytes, kCopyBlockBytes)}, {kCopyBlock}, tile);
  return launch(copy_limit_kernel, s, static_cast<const unsigned char*>(in),
                static_cast<unsigned char*>(out), bytes);
}

}  // namespace gpuexp
