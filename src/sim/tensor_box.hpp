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

inline constexpr std::size_t kMostDimensions = 5;

/// Why the simulator does not copy by the map: the driver would refuse it, or where its boxes lie
/// in shared memory is not documented. Empty where it does.
std::string tensor_map_refusal(const TensorMap& map);

/// An address of shared memory, or an offset in it, with its groups of 16 bytes permuted.
std::uint64_t swizzled(std::uint64_t address, Swizzle swizzle);

/// One box. In shared memory its elements lie one behind the other, the first dimension first.
class TensorBox {
 public:
  using Place = std::array<std::int32_t, kMostDimensions>;

  enum class For { reading, writing };

  /// With its first element at such a place of the tensor, which may be outside. Throws Fault where
  /// that begins no 16 bytes of a row, and for writing where it is below 0: an H200 ends the launch
  /// with an illegal instruction then.
  TensorBox(const TensorMap& map, const Place& first, For use);

  std::size_t bytes() const;
  /// Calls row(offset, address, bytes) for the part of each row that is inside of the tensor: where
  /// it begins in the box, and in global memory. An H200 writes whole groups of 16 bytes: those
  /// that a row ends in reach beyond its last element, and not beyond its stride.
  void for_rows(const std::function<void(std::size_t, std::uint64_t, std::size_t)>& row) const;
  /// Elements outside of the tensor, as many as the box has.
  std::vector<std::byte> filled() const;

 private:
  const TensorMap& map_;
  Place first_;
  For use_;
};

/// Of a tensor's elements. Throws Fault: the PTX ISA has no such reduction of them.
AtomicType reduction_type(DataType type, Atomic how);

}  // namespace gpuexp::sim
