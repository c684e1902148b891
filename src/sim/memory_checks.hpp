// Checks the accesses of a block: addresses must be aligned and in bounds, reads must find written
// bytes, and accesses to shared memory must not race or use bytes that cp.async is still copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/global_memory.hpp"
#include "sim/memory_access.hpp"
#include "sim/program.hpp"
#include "sim/shared_shadow.hpp"
#include "sim/warp.hpp"

namespace gpuexp::sim {

class MemoryChecks {
 public:
  /// `shared` is the block's shared memory, valid as long as this object; the system reserves the
  /// first `system_shared_bytes`.
  MemoryChecks(GlobalMemory& global, const Program& program, const Extent& block,
               std::span<const std::byte> shared, std::size_t system_shared_bytes,
               std::size_t warps);

  /// Declares the shared memory in which cooperative groups synchronize: its contents count as
  /// written, since code works with any, and its accesses do not race. Each atomic operation there
  /// orders all earlier accesses of the block before all later ones.
  void set_group_memory(const AddressRange& range);

  /// Records the warp's divergence and reconvergence. Call it before the block's first instruction.
  void follow(Warp& warp);

  /// Throws Fault, with the lane unless the access is a bulk copy.
  void check(Warp& warp, const MemoryAccess& access);
  /// Checks a bulk copy. Throws Fault.
  void check_range(const MemoryAccess& access);
  /// Records an access within bounds by another block's thread to this block's shared memory.
  /// Returns false if the access reads unwritten memory. The access counts as ordered with all
  /// accesses by this block's threads.
  bool note_remote(Access kind, std::uint64_t address, unsigned width);
  /// Handles a read of another block's unwritten shared memory by lanes of this block. For a load,
  /// marks the loaded registers as undefined, so that only their use is a fault. Throws Fault for
  /// other accesses.
  void report_unwritten(Warp& warp, const MemoryAccess& access, LaneMask lanes) const;
  void commit_copies(const Warp& warp, LaneMask lanes);
  void wait_for_copies(const Warp& warp, LaneMask lanes, std::uint32_t left);
  /// See SharedShadow.
  void add_mbarrier(std::uint64_t mbarrier) { shadow_.add_mbarrier(mbarrier); }
  void arrive_after_copies(const Warp& warp, unsigned lane, std::uint64_t mbarrier) {
    shadow_.arrive_after_copies(mbarrier, warp.index, lane);
  }
  void end_phase(std::uint64_t mbarrier) { shadow_.end_phase(mbarrier); }
  void wait_for_phase(const Warp& warp, unsigned lane, std::uint64_t mbarrier);
  void fence(const Warp& warp) { shadow_.fence(warp.index); }
  /// Call when all remaining threads have reached a barrier of the block, or a phase of an mbarrier
  /// or of the cluster's barrier has ended.
  void release_barrier() { shadow_.release_barrier(); }
  /// Call arrive() when a warp arrives at a barrier with a thread count. Call release_barrier()
  /// when the barrier is complete, before the waiting warps of `warps` continue.
  void arrive(const Warp& warp, unsigned barrier) { shadow_.arrive(barrier, warp.index); }
  void release_barrier(unsigned barrier, const std::vector<std::unique_ptr<Warp>>& warps);

 private:
  Accessor accessor(const Warp& warp) const;
  void check_global(const MemoryAccess& access);
  void check_shared(Warp& warp, const MemoryAccess& access);
  void check_local(Warp& warp, const MemoryAccess& access) const;
  [[noreturn]] void report(const MemoryAccess& access, const Conflict& conflict) const;

  GlobalMemory& global_;
  const Program& program_;
  Extent block_;
  std::size_t shared_bytes_;
  std::size_t system_shared_bytes_;
  AddressRange group_memory_;
  SharedShadow shadow_;
  std::vector<LaneOrder> orders_;
};

/// Throws Fault if an instruction uses an undefined register; otherwise marks the registers that it
/// overwrites as defined. Call it before the instruction executes. The system reserves the first
/// `system_shared_bytes` of the block's shared memory.
void check_registers(const Program& program, Warp& warp, const Op& op, LaneMask lanes,
                     std::size_t system_shared_bytes);

/// Throws Fault if a lane accesses global memory outside of every buffer.
void check_bounds(GlobalMemory& global, const MemoryAccess& access);

}  // namespace gpuexp::sim
