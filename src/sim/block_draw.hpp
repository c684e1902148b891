// Draws sample blocks that represent a whole grid.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/types.hpp"

namespace gpuexp::sim {

/// Blocks not drawn before, and the sample drawn from them: two blocks with equal probability, or
/// all if there are at most two.
struct Stratum {
  /// Bit 0, 1 or 2 is set if the blocks are the last blocks of the grid in x, y or z. Blocks with
  /// equal flags mostly execute the same code.
  int tails = 0;
  std::int64_t blocks = 0;
  std::vector<std::int64_t> drawn;  ///< block numbers in the grid, x first
};

class BlockDraw {
 public:
  /// The first draw includes the block numbers in `required`. Equal seeds give equal draws.
  BlockDraw(const Extent& grid, std::uint64_t seed, std::vector<std::int64_t> required = {0});

  /// Returns strata that together contain all blocks not drawn before. Required blocks form strata
  /// of one block. The last blocks in each dimension, whose tiles may be partial, form one region
  /// per side, edge and corner; the other blocks form one region. Each region is divided in order
  /// into at most `intervals` strata.
  std::vector<Stratum> draw(std::int64_t intervals);

 private:
  struct Region;  ///< a box of blocks of the grid, numbered x first
  int tails_of(std::int64_t number) const;
  Stratum draw(const Region& region, std::int64_t first, std::int64_t end);

  Extent grid_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> required_;
  std::vector<std::int64_t> before_;  ///< numbers of blocks drawn by earlier calls, ascending
  std::vector<std::int64_t> now_;
};

}  // namespace gpuexp::sim
