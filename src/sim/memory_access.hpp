// What an instruction asks of memory, before it gets it.
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
  reduction,  ///< an atomic operation on global memory whose old value nobody gets (RED)
  /// What cp.async reads from global memory, and writes to shared memory.
  async_load,
  async_store,
  /// What a bulk copy reads and writes: one range, of one lane that stands for all. The copy engine
  /// moves it past the LSU, so it counts as no request there and as no sector of L1; L2 sees its
  /// sectors.
  bulk_load,
  bulk_store,
  /// What wgmma reads of A and B: rows of 16 bytes, past the LSU as well.
  matrix_load,
};

constexpr bool is_atomic(Access kind) {
  return kind == Access::atomic || kind == Access::reduction;
}

/// One instruction of one warp.
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
  unsigned width;          ///< bytes of each lane
  LaneMask lanes;          ///< that take part
  const Lanes64& address;  ///< in shared memory: from the beginning of the block's; in local
                           ///< memory: of the lane's own; in another block's: with its rank
  /// What a store writes, 32 bits each; null: zeros, or not known.
  const Lanes32* values;
  /// Where an asynchronous store has its values from.
  const Lanes64* source;
  /// Where in shared memory an asynchronous load past L1 (cp.async.cg) puts them.
  const Lanes64* destination = nullptr;
  AccessShape shape;
  /// Of its instruction and its space (sim/access_counts.hpp), from Block::note() on; null: none.
  mutable AccessMemo* memo = nullptr;
};

}  // namespace gpuexp::sim
