// Blocks that stand for a whole grid.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/types.hpp"

namespace gpuexp::sim {

/// Neighbouring blocks, and those of them that were drawn: all of them, or two, each as likely.
struct Stratum {
  /// Whether they are last along x, y and z, a bit each: blocks alike in this do mostly the same.
  int tails = 0;
  std::int64_t blocks = 0;
  std::vector<std::int64_t> drawn;  ///< numbers in the grid, x first
};

/// Draws blocks of a grid without ever drawing one twice.
class BlockDraw {
 public:
  /// Blocks whose numbers are `certain` are drawn first. Equal seeds give equal draws.
  BlockDraw(const Extent& grid, std::uint64_t seed, std::vector<std::int64_t> certain = {0});

  /// Strata that hold together all blocks which were not drawn before: those that are certain, the
  /// last ones along each dimension, whose tiles may be cut off (each side, edge and corner by
  /// itself), and the others in so many intervals of their order.
  std::vector<Stratum> draw(std::int64_t intervals);

 private:
  struct Region;  ///< a part of the grid in which blocks are numbered in order
  int tails_of(std::int64_t number) const;
  Stratum draw(const Region& region, std::int64_t first, std::int64_t end);

  Extent grid_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> certain_;
  std::vector<std::int64_t> before_;  ///< drawn already, in order
  std::vector<std::int64_t> now_;
};

}  // namespace gpuexp::sim
