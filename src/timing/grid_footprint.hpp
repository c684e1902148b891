// Bytes of global memory that all blocks of a grid access. A few blocks are executed; others do the
// same at shifted addresses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "timing/block_footprint.hpp"

namespace gpuexp {

/// Ranges that all have the same shift between two blocks.
struct GridPart {
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

  bool writes = false;
  std::vector<std::vector<ByteRange>> phases;  ///< ranges of one block
  /// Bytes from a block's addresses to those of its neighbours along x, y and z.
  std::array<std::int64_t, 3> step{};
  /// Shifts by block number if `step` does not describe them; kNothing: the block has no access.
  std::vector<std::int64_t> shifts;
  ByteRange within;           ///< buffer of the ranges, which bounds all blocks' accesses
  bool is_scattered = false;  ///< addresses depend on data, anywhere in the buffer
};

/// Sorts ranges, and joins those that overlap or touch.
void join(std::vector<ByteRange>& ranges);

/// Footprint of a launch. If it has clusters, each cluster is a block here.
struct GridFootprint {
  Extent grid;
  Extent block;  ///< block whose ranges the parts contain
  std::size_t phases = 0;
  std::vector<GridPart> parts;
  std::string refusal;  ///< why the footprint is not known; empty if it is

  /// Bytes from the addresses of `block` to those of block `number`, or GridPart::kNothing.
  std::int64_t shift(const GridPart& part, std::int64_t number) const;
  /// Shifts of all blocks, by number.
  std::vector<std::int64_t> shifts(const GridPart& part) const;
  /// Whether each block's addresses are above those of the block before it.
  bool ascends(const GridPart& part) const;
};

/// Throws sim::Fault, and sim::Stopped if `stop` returns true.
GridFootprint grid_footprint(const sim::LaunchState& launch, const std::function<bool()>& stop);

}  // namespace gpuexp
