// A tensor map: how the Tensor Memory Accelerator sees a tensor in global memory (CUDA C++
// Programming Guide, "Asynchronous data copies using the Tensor Memory Accelerator"; CUDA Driver
// API, cuTensorMapEncodeTiled). As an argument of a launch it stands for the kernel's parameter of
// type `const __grid_constant__ CUtensorMap`, which the launcher encodes. C++17 and free of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpuexp {

/// How the rows of a box are permuted in shared memory: in groups of 16 bytes, within so many.
enum class Swizzle { none, bytes_32, bytes_64, bytes_128 };

/// What a box that is read holds of places outside of the tensor. Of one that is written, what lies
/// outside stays as it was, but for the group of 16 bytes that a row ends in, which an H200 writes
/// whole.
enum class OutOfBoundsFill { zero, nan };

struct TensorMap {
  const void* base = nullptr;  ///< in global memory, 16-byte aligned
  DataType type = DataType::fp32;
  /// Elements along each of 1 to 5 dimensions, the one with neighbouring elements first.
  std::vector<std::int64_t> extents;
  /// Bytes from one index to the next along each dimension but the first: multiples of 16.
  std::vector<std::int64_t> strides;
  /// Elements that one copy moves along each dimension, at most 256; the first makes a multiple of
  /// 16 bytes.
  std::vector<std::int64_t> box;
  Swizzle swizzle = Swizzle::none;
  OutOfBoundsFill fill = OutOfBoundsFill::zero;
};

/// Of the parameter that a tensor map stands for. CUDA 12 aligns it to 64 bytes, CUDA 13 to 128.
inline constexpr std::size_t kTensorMapBytes = 128;
inline constexpr std::size_t kLeastTensorMapAlignment = 64;

}  // namespace gpuexp
