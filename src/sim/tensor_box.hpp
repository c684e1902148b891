// Boxes of tensors, as the Tensor Memory Accelerator copies them (PTX ISA, "Tensors"; CUDA C++
// Programming Guide, "Asynchronous data copies using the Tensor Memory Accelerator").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "family/tensor_map.hpp"
#include "sim/atomic_update.hpp"

namespace gpuexp::sim {

inline constexpr std::size_t kMaxDimensions = 5;

/// Why the simulator refuses the map: the driver would refuse it, or the layout of its boxes in
/// shared memory is not documented. Empty if the map is accepted.
std::string tensor_map_refusal(const TensorMap& map);

/// Swizzled address or offset in shared memory. Swizzling permutes groups of 16 bytes.
std::uint64_t swizzled(std::uint64_t address, Swizzle swizzle);

/// One box. Before swizzling, its elements are contiguous in shared memory, first dimension
/// fastest.
class TensorBox {
 public:
  using Place = std::array<std::int32_t, kMaxDimensions>;

  enum class For { reading, writing };

  /// `first` is the box's first element, which may be outside of the tensor. Throws Fault if its
  /// offset in its row is not a multiple of 16 bytes and, for writing, if a coordinate is negative
  /// (illegal instruction on an H200).
  TensorBox(const TensorMap& map, const Place& first, For use);

  std::size_t bytes() const;
  /// Calls row(offset in the box, global address, bytes) for the part of each row that is inside
  /// the tensor. An H200 writes whole groups of 16 bytes: the last group may extend past the row's
  /// last element, but not past the row's stride.
  void for_rows(const std::function<void(std::size_t, std::uint64_t, std::size_t)>& row) const;
  /// Returns a box in which all elements have the value of elements outside of the tensor.
  std::vector<std::byte> filled() const;

 private:
  const TensorMap& map_;
  Place first_;
  For use_;
};

/// Type of a reduction of a tensor's elements. Throws Fault if the PTX ISA lacks the reduction.
AtomicType reduction_type(DataType type, Atomic how);

}  // namespace gpuexp::sim
