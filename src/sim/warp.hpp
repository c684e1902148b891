// A warp as machine code sees it: registers and predicates of its lanes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "sim/divergence.hpp"
#include "sim/local_memory.hpp"
#include "sim/undefined_registers.hpp"

namespace gpuexp::sim {

class Block;

/// Threads that came to a barrier of the block, and those that voted yes.
struct BarrierVotes {
  std::uint32_t all = 0;
  std::uint32_t yes = 0;
};

/// A load of what other ranks may write, and what its first lane found.
struct Look {
  std::uint32_t next = 0;  ///< instruction
  LaneMask lanes = 0;
  std::uint64_t address = 0;
  std::array<std::uint32_t, 4> words{};
  bool operator==(const Look&) const = default;
};

struct Warp {
  Warp(Block& of, unsigned place, LaneMask lanes, unsigned used_registers)
      : block(of), index(place), divergence(lanes) {
    divergence.leave_out(~lanes);
    std::memset(registers.data(), 0, used_registers * sizeof(Lanes32));
    registers[kZeroRegister] = {};
    predicates[kTruePredicate] = kAllLanes;
  }

  /// To be called by an instruction that has to come again, or that reports, because what it asks
  /// for is not there yet: others run first.
  void wait() {
    divergence.yield();
    waits = true;
  }

  LocalMemory& local_memory() {
    if (!local) local = std::make_unique<LocalMemory>();
    return *local;
  }

  Block& block;
  unsigned index;  ///< within the block
  Divergence divergence;
  bool waits = false;                              ///< its turn ended with wait()
  bool ends_turn = false;                          ///< it may spin on what others write
  Look last_look;                                  ///< at what others may write
  bool polls = false;                              ///< its turn ended with the same look again
  bool signals = false;                            ///< it stored what other ranks may wait for
  std::uint64_t steps = 0;                         ///< instructions executed
  std::uint32_t product_groups = 0;                ///< of wgmma, that it has committed
  BarrierVotes votes;                              ///< of the last barrier that it was at
  std::uint32_t cluster_arrivals = 0;              ///< at the cluster's barrier
  bool awaits_cluster = false;                     ///< it has arrived there, and not waited yet
  std::uint8_t vote_kind = 0;                      ///< and what it asked for there
  std::unique_ptr<LocalMemory> local;              ///< null: none of it was used
  std::unique_ptr<UndefinedRegisters> undefined;   ///< null: none, as nearly always
  alignas(64) std::array<Lanes32, 256> registers;  ///< those of the kernel alone; RZ stays 0
  std::array<std::uint32_t, 256> uniform{};        ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};            ///< PT stays all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
