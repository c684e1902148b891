// State of a warp.
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

struct BarrierVotes {
  std::uint32_t all = 0;
  std::uint32_t yes = 0;
};

/// A load of memory that other ranks may write, and the values that its first lane loaded.
struct PolledLoad {
  std::uint32_t next = 0;  ///< index of the instruction after the load
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

  /// Call when an instruction must be repeated, or reports failure, because it waits for an event.
  /// Other warps then run first.
  void wait() {
    divergence.yield();
    waits = true;
  }

  LocalMemory& local_memory() {
    if (!local) local = std::make_unique<LocalMemory>();
    return *local;
  }

  Block& block;
  unsigned index;
  Divergence divergence;
  bool waits = false;      ///< whether its turn ended with wait()
  bool ends_turn = false;  ///< whether its turn ends because a load may poll memory
  PolledLoad last_polled_load;
  bool polls = false;    ///< whether its turn ended with a repeated load of unchanged values
  bool signals = false;  ///< whether it stored values that other ranks may wait for
  std::uint64_t steps = 0;
  std::uint32_t product_groups = 0;
  BarrierVotes votes;
  std::uint32_t cluster_arrivals = 0;  ///< number of arrivals at the cluster's barrier
  /// Whether it has arrived at the cluster's barrier and not yet waited.
  bool awaits_cluster = false;
  std::uint8_t vote_kind = 0;  ///< kind of its vote at the block's barrier
  std::unique_ptr<LocalMemory> local;
  std::unique_ptr<UndefinedRegisters> undefined;  ///< null: none, the common case
  /// Only the kernel's registers are cleared; RZ stays 0.
  alignas(64) std::array<Lanes32, 256> registers;
  std::array<std::uint32_t, 256> uniform{};  ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};      ///< PT stays true in all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
