// Accesses of a block held against what kernels may do: inside of buffers, aligned, of memory that
// was written, without races in shared memory, not of what cp.async still copies.
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

  /// Before the block's first instruction: the warp tells of lanes that part and meet.
  void follow(Warp& warp);

  /// Throws Fault, with the lane.
  void check(Warp& warp, const MemoryAccess& access);
  /// Of a bulk copy.
  void check_range(const MemoryAccess& access);
  /// A thread of another block accesses the block's shared memory, inside of it. False: it reads
  /// what nothing has written. Whatever this block's own threads do counts as before or after it.
  bool note_remote(Access kind, std::uint64_t address, unsigned width);
  /// Lanes of this block have read what nothing has written in another one's shared memory. Throws
  /// Fault where that is not left to who uses it.
  void report_unwritten(Warp& warp, const MemoryAccess& access, LaneMask lanes) const;
  void commit_copies(const Warp& warp, LaneMask lanes);
  void wait_for_copies(const Warp& warp, LaneMask lanes, std::uint32_t left);
  /// All threads that are left have met.
  void release_barrier() { shadow_.release_barrier(); }
  /// A warp has come to a barrier that is of a number of threads, and it is complete: before those
  /// of `warps` that wait there go on.
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

/// Before an instruction of a warp that has undefined registers. Throws Fault where it uses one.
void check_registers(const Program& program, Warp& warp, const Op& op, LaneMask lanes);

}  // namespace gpuexp::sim
