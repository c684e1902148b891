// Order of accesses between warps of a block that synchronize without a barrier of the whole block:
//
// - At barriers of some warps, a warp that arrives contributes its accesses and the accesses that
//   it knows to precede them; warps that wait learn of all contributed accesses. Warps that only
//   arrive (BAR.ARV) learn nothing.
// - By flags, a warp publishes what precedes its last fence (MEMBAR) with each later store or
//   atomic operation. A warp that reads the stored value as a flag learns of it. Atomic operations
//   on one word pass on what earlier ones have published.
// - By a phase of an mbarrier, warps that wait for it learn of the copies that have completed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/lane_order.hpp"

namespace gpuexp::sim {

using WarpMask = std::uint32_t;

class WarpOrder {
 public:
  WarpOrder(BlockTime& clock, std::size_t warps) : clock_(clock), known_(warps), fences_(warps) {}

  bool is_used() const { return !known_.empty(); }

  void arrive(unsigned barrier, unsigned warp);
  /// Call when the barrier is complete and the `waiters` continue. All lanes of the warps in
  /// `whole` have arrived, so they see the earlier accesses of their own warp.
  void release(unsigned barrier, WarpMask waiters, WarpMask whole);

  void fence(unsigned warp);
  /// A warp reads, as a flag, the word at `address` that the other warp stored at `time`.
  void read_flag(unsigned warp, unsigned writer, BlockTime time);
  /// A warp reads, as a flag, the word at `address` that an atomic operation changed last.
  void read_atomic(unsigned warp, std::uint64_t address);
  /// A warp changes the word by an atomic operation, which also reads it.
  void change_atomic(unsigned warp, std::uint64_t address);
  /// Call before change_atomic() if a plain store, by this warp at this time, wrote the word last.
  void begin_atomics(std::uint64_t address, unsigned writer, BlockTime time);

  /// A warp has waited for a phase of the mbarrier. If it `completes` copies, which count as its
  /// own accesses, all warps that wait for the phase later learn of them.
  void wait_for_phase(unsigned warp, std::uint64_t mbarrier, bool completes);

  /// Call when a barrier of the whole block orders all accesses.
  void order_all();

  /// Time up to which accesses of warp `about` precede the next access of `warp`.
  BlockTime known(unsigned warp, unsigned about) const { return known_[warp][about]; }

 private:
  static constexpr unsigned kBarriers = 16;
  static constexpr unsigned kWarps = 32;
  using Known = std::array<BlockTime, kWarps>;
  struct Fence {
    BlockTime time = 0;
    Known known{};
  };

  static void add(Known& to, const Known& more);
  void learn(unsigned warp, const Known& more);
  const Fence* fence_before(unsigned warp, BlockTime time) const;

  BlockTime& clock_;
  std::vector<Known> known_;
  std::array<Known, kBarriers> contributed_{};
  /// By warp: its fences since the last barrier of the block, in the order of time.
  std::vector<std::vector<Fence>> fences_;
  std::unordered_map<std::uint64_t, Known> atomics_;    ///< by address: what was published
  std::unordered_map<std::uint64_t, Known> completed_;  ///< by mbarrier
};

}  // namespace gpuexp::sim
