// A warp as machine code sees it: registers and predicates of its lanes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "sim/divergence.hpp"

namespace gpuexp::sim {

class Block;

struct Warp {
  Warp(Block& of, unsigned place, LaneMask lanes, unsigned used_registers)
      : block(of), index(place), divergence(lanes) {
    divergence.leave_out(~lanes);
    std::memset(registers.data(), 0, used_registers * sizeof(Lanes32));
    registers[kZeroRegister] = {};
    predicates[kTruePredicate] = kAllLanes;
  }

  Block& block;
  unsigned index;  ///< within the block
  Divergence divergence;
  alignas(64) std::array<Lanes32, 256> registers;  ///< those of the kernel alone; RZ stays 0
  std::array<std::uint32_t, 64> uniform{};         ///< URZ stays 0
  std::array<LaneMask, 8> predicates{};            ///< PT stays all lanes
  std::array<bool, 8> uniform_predicates{{false, false, false, false, false, false, false, true}};
};

}  // namespace gpuexp::sim
