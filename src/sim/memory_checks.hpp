// Checks the accesses of a block: they must be aligned, within buffers and of written memory,
// without races in shared memory, and not of bytes that cp.async is still copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/global_memory.hpp"
#include "sim/memory_access.hpp"
#include "sim/program.hpp"
#include "sim/shared_shadow.hpp"
#include "sim/warp.hpp"

namespace gpuexp::sim {

class MemoryChecks {
 public:
  MemoryChecks(GlobalMemory& global, const Program& program, const Extent& block,
               std::size_t shared_bytes, std::size_t warps);

  /// Call before the block's first instruction. The warp then reports divergence and reconvergence.
  void follow(Warp& warp);

  /// Throws Fault, which names the lane.
  void check(Warp& warp, const MemoryAccess& access);
  /// Checks a bulk copy. Throws Fault.
  void check_range(const MemoryAccess& access);
  /// Records an access of another block's thread to this block's shared memory, within bounds.
  /// Returns false if it reads unwritten memory. The access counts as ordered with all accesses of
  /// this block's own threads.
  bool note_remote(Access kind, std::uint64_t address, unsigned width);
  /// Handles a read of unwritten shared memory of another block by lanes of this block. After a
  /// load, only a use of the loaded registers is a fault. Throws Fault for other accesses.
  void report_unwritten(Warp& warp, const MemoryAccess& access, LaneMask lanes) const;
  void commit_copies(const Warp& warp, LaneMask lanes);
  void wait_for_copies(const Warp& warp, LaneMask lanes, std::uint32_t left);
  /// All remaining threads have reached the block's barrier.
  void release_barrier() { shadow_.release_barrier(); }
  /// A warp arrives at a barrier with a thread count. release_barrier(): the barrier is complete.
  /// Call it before the waiting warps of `warps` continue.
  void arrive(const Warp& warp, unsigned barrier) { shadow_.arrive(barrier, warp.index); }
  void release_barrier(unsigned barrier, const std::vector<std::unique_ptr<Warp>>& warps);

 private:
  void check_global(const MemoryAccess& access);
  void check_shared(Warp& warp, const MemoryAccess& access);
  void check_local(Warp& warp, const MemoryAccess& access) const;
  [[noreturn]] void report(const MemoryAccess& access, const Conflict& conflict) const;

  GlobalMemory& global_;
  const Program& program_;
  Extent block_;
  std::size_t shared_bytes_;
  SharedShadow shadow_;
  std::vector<LaneOrder> orders_;  ///< by warp
};

/// Call before an instruction of a warp with undefined registers. Throws Fault if it uses one.
void check_registers(const Program& program, Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpuexp::sim
