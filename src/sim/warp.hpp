// A warp as machine code sees it: registers and predicates of its lanes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/divergence.hpp"
#include "sim/undefined_registers.hpp"

namespace gpuexp::sim {

class Block;

struct Warp {
  Warp(Block& of, unsigned place, LaneMask lanes) : block(of), index(place), divergence(lanes) {
    divergence.leave_out(~lanes);
    predicates[kTruePredicate] = kAllLanes;
  }

  Block& block;
  unsigned index;  ///< within the block
  Divergence divergence;
  std::uint64_t steps = 0;                           ///< instructions executed
  std::unique_ptr<UndefinedRegisters> undefined;     ///< null: none, as nearly always
  alignas(64) std::array<Lanes32, 256> registers{};  ///< RZ stays 0
  std::array<std::uint32_t, 64> uniform{};           ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};              ///< PT stays all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
