// State of a warp: registers and predicates of its lanes.
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

/// Threads that reached a barrier of the block, and threads that voted yes.
struct BarrierVotes {
  std::uint32_t all = 0;
  std::uint32_t yes = 0;
};

/// A load of memory that other ranks may write, with the values that its first lane loaded.
struct PolledLoad {
  std::uint32_t next = 0;  ///< instruction
  LaneMask lanes = 0;
  std::uint64_t address = 0;
  std::array<std::uint32_t, 4> words{};
  bool operator==(const PolledLoad&) const = default;
};

struct Warp {
  Warp(Block& of, unsigned place, LaneMask lanes, unsigned used_registers)
      : block(of), index(place), divergence(lanes) {
    divergence.leave_out(~lanes);
    std::memset(registers.data(), 0, used_registers * sizeof(Lanes32));
    registers[kZeroRegister] = {};
    predicates[kTruePredicate] = kAllLanes;
  }

  /// Called by an instruction that must be repeated, or that reports failure, because it waits for
  /// an event: other warps run first.
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
  bool ends_turn = false;                          ///< it may poll memory that others write
  PolledLoad last_polled_load;                     ///< last load of memory that others may write
  bool polls = false;                              ///< its turn ended with an identical load
  bool signals = false;                            ///< other ranks may wait for what it stored
  std::uint64_t steps = 0;                         ///< instructions executed
  std::uint32_t product_groups = 0;                ///< wgmma groups that it has committed
  BarrierVotes votes;                              ///< at its last barrier
  std::uint32_t cluster_arrivals = 0;              ///< at the cluster's barrier
  bool awaits_cluster = false;                     ///< it has arrived there, but not waited yet
  std::uint8_t vote_kind = 0;                      ///< kind of its vote at the block's barrier
  std::unique_ptr<LocalMemory> local;              ///< null: unused
  std::unique_ptr<UndefinedRegisters> undefined;   ///< null: none, the common case
  alignas(64) std::array<Lanes32, 256> registers;  ///< only the kernel's are cleared; RZ stays 0
  std::array<std::uint32_t, 256> uniform{};        ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};            ///< PT stays all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
