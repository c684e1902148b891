// Memory access of an instruction, described before it is executed.
#pragma once

#include <cstdint>

#include "sim/access_shape.hpp"

namespace gpuexp::sim {

class AccessMemo;

enum class Space : std::uint8_t {
  global,
  shared,
  local,
  cluster  ///< shared memory of another block of the cluster
};

enum class Access : std::uint8_t {
  load,
  store,
  atomic,
  reduction,  ///< an atomic operation on global memory that returns no value (RED)
  /// cp.async: reads of global memory, and writes to shared memory.
  async_load,
  async_store,
  /// Bulk copy: reads and writes of one range, described by one lane for the warp. The copy engine
  /// bypasses the LSU and L1, so only L2 counts its sectors.
  bulk_load,
  bulk_store,
  /// wgmma: reads of A and B, rows of 16 bytes, which also bypass the LSU.
  matrix_load,
};

constexpr bool is_atomic(Access kind) {
  return kind == Access::atomic || kind == Access::reduction;
}

/// One access by one instruction of one warp.
struct MemoryAccess {
  MemoryAccess(Space of, Access how, unsigned bytes, LaneMask of_lanes, const Lanes64& at,
               const Lanes32* written = nullptr, const Lanes64* copied_from = nullptr)
      : space(of),
        kind(how),
        width(bytes),
        lanes(of_lanes),
        address(at),
        values(written),
        source(copied_from),
        shape(shape_of(at, of_lanes, bytes)) {}

  Space space;
  Access kind;
  unsigned width;          ///< bytes per lane
  LaneMask lanes;          ///< lanes that take part
  const Lanes64& address;  ///< offset in the block's shared memory or the lane's local memory;
                           ///< includes the rank for the shared memory of another block
  /// Values that a store writes, 32 bits each. Null: zeros, or unknown.
  const Lanes32* values;
  /// Addresses from which an asynchronous store copies its values.
  const Lanes64* source;
  /// Addresses in shared memory to which an asynchronous load past L1 (cp.async.cg) writes.
  const Lanes64* destination = nullptr;
  AccessShape shape;
  /// Memo of the instruction and space (sim/access_counts.hpp), set by Block::note(). Null: none.
  mutable AccessMemo* memo = nullptr;
};

}  // namespace gpuexp::sim
