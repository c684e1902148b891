// Memory access of one instruction of one warp, described before it is executed.
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
  /// cp.async: a read of global memory and a write to shared memory.
  async_load,
  async_store,
  /// Bulk copy: a read and a write of one range, which one lane of the warp describes. The copy
  /// engine bypasses the LSU and L1, so only L2 counts its sectors.
  bulk_load,
  bulk_store,
  /// wgmma: a read of A or B in rows of 16 bytes, which also bypasses the LSU.
  matrix_load,
};

constexpr bool is_atomic(Access kind) {
  return kind == Access::atomic || kind == Access::reduction;
}

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
  unsigned width;  ///< bytes per lane; bulk copies: bytes of the range
  LaneMask lanes;
  /// Global address, or offset in the block's shared memory or the lane's local memory; for shared
  /// memory of another block, includes the block's rank.
  const Lanes64& address;
  /// Values that a store writes, 32 bits each. Null: unknown.
  const Lanes32* values;
  /// Addresses in global memory from which an asynchronous store copies.
  const Lanes64* source;
  /// Addresses in shared memory to which an asynchronous load past L1 (cp.async.cg) copies.
  const Lanes64* destination = nullptr;
  /// Whether other warps may synchronize by a load, store or atomic operation in shared memory,
  /// because it is strong or polls (sim/poll_loops.hpp).
  bool is_flag = false;
  AccessShape shape;
  /// Memo of the instruction and space, set by Block::note() (sim/access_counts.hpp). Null: none.
  mutable AccessMemo* memo = nullptr;
};

}  // namespace gpuexp::sim
