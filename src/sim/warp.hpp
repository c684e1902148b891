// A warp as machine code sees it: registers and predicates of its lanes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/divergence.hpp"

namespace gpuexp::sim {

class Block;

/// Threads that came to a barrier of the block, and those that voted yes.
struct BarrierVotes {
  std::uint32_t all = 0;
  std::uint32_t yes = 0;
};

struct Warp {
  Warp(Block& of, unsigned place, LaneMask lanes) : block(of), index(place), divergence(lanes) {
    divergence.leave_out(~lanes);
    predicates[kTruePredicate] = kAllLanes;
  }

  /// To be called by an instruction that has to come again, or that reports, because what it asks
  /// for is not there yet: others run first.
  void wait() {
    divergence.yield();
    waits = true;
  }

  /// Where `bytes` at an address of a lane's local memory lie. Throws Fault outside of it.
  std::byte* local_at(unsigned lane, std::uint64_t address, std::size_t bytes);

  Block& block;
  unsigned index;  ///< within the block
  Divergence divergence;
  bool waits = false;                ///< its turn ended with wait()
  std::uint32_t product_groups = 0;  ///< of wgmma, that it has committed
  BarrierVotes votes;                ///< of the last barrier that it was at
  std::uint8_t vote_kind = 0;        ///< and what it asked for there
  /// Of each lane, from the end of its local memory on as much as it has used.
  std::array<std::vector<std::byte>, kLanes> local;
  alignas(64) std::array<Lanes32, 256> registers{};  ///< RZ stays 0
  std::array<std::uint32_t, 64> uniform{};           ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};              ///< PT stays all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
