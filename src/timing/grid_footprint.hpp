// Which bytes of global memory all blocks of a grid touch, from executing a few of them: blocks do
// at other addresses what one of them does.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "timing/block_footprint.hpp"

namespace gpuexp {

/// Ranges that are as far from one block's to another's, all of them.
struct GridPart {
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

  bool writes = false;
  std::vector<std::vector<ByteRange>> phases;  ///< of one block
  /// From that block's addresses to another's: so many bytes for each block along x, y and z.
  std::array<std::int64_t, 3> step{};
  /// Where these do not say it, by the other block's number; kNothing: it touches none of them.
  std::vector<std::int64_t> shifts;
  ByteRange within;           ///< the buffer that they are of: what all blocks touch at most
  bool is_scattered = false;  ///< addresses depend on data, and are anywhere in the buffer
};

/// Sorts ranges, and joins those that meet.
void join(std::vector<ByteRange>& ranges);

/// Of a launch with clusters, each stands for a block.
struct GridFootprint {
  Extent grid;
  Extent block;  ///< whose ranges the parts have
  std::size_t phases = 0;
  std::vector<GridPart> parts;
  std::string refusal;  ///< why it is not known; empty where it is

  /// In bytes, of a block with this number; GridPart::kNothing where it touches none.
  std::int64_t shift(const GridPart& part, std::int64_t number) const;
  /// Of all blocks, by their numbers.
  std::vector<std::int64_t> shifts(const GridPart& part) const;
  /// Whether each block's is above that of the one before it.
  bool ascends(const GridPart& part) const;
};

/// Throws sim::Fault, and sim::Stopped where `stop` says so.
GridFootprint grid_footprint(const sim::LaunchState& launch, const std::function<bool()>& stop);

}  // namespace gpuexp
