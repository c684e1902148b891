// A tensor map: the description of a tensor in global memory for the Tensor Memory Accelerator
// (CUDA C++ Programming Guide, "Asynchronous data copies using the Tensor Memory Accelerator";
// CUDA Driver API, cuTensorMapEncodeTiled). As a launch argument, it stands for the kernel's
// parameter of type `const __grid_constant__ CUtensorMap`, which the launcher encodes. C++17
// without CUDA headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpuexp {

/// Permutation of 16-byte groups within each row of 32, 64 or 128 bytes of a box in shared memory.
enum class Swizzle { none, bytes_32, bytes_64, bytes_128 };

/// Value of the elements outside the tensor in a box that is loaded. Stores skip elements outside
/// the tensor, except in the 16-byte group in which a row ends: an H200 writes the whole group.
enum class OutOfBoundsFill { zero, nan };

struct TensorMap {
  const void* base = nullptr;  ///< in global memory, 16-byte aligned
  DataType type = DataType::fp32;
  /// Number of elements along 1 to 5 dimensions, starting with the contiguous dimension.
  std::vector<std::int64_t> extents;
  /// Strides in bytes of all dimensions except the first: multiples of 16.
  std::vector<std::int64_t> strides;
  /// Number of elements per copy along each dimension, at most 256. In the first dimension, the box
  /// must have a multiple of 16 bytes.
  std::vector<std::int64_t> box;
  Swizzle swizzle = Swizzle::none;
  OutOfBoundsFill fill = OutOfBoundsFill::zero;
};

/// Size and minimum alignment of the parameter. CUDA 12 aligns it to 64 bytes, CUDA 13 to 128.
inline constexpr std::size_t kTensorMapBytes = 128;
inline constexpr std::size_t kMinTensorMapAlignment = 64;

}  // namespace gpuexp
