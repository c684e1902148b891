// Bytes of global memory that all blocks of a grid access. In grids of more than 16 blocks, only
// some blocks are executed; the other blocks are assumed to make the same accesses at shifted
// addresses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "timing/block_footprint.hpp"

namespace gpuexp {

/// Ranges that shift by the same distance from one block to another.
struct GridPart {
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

  bool writes = false;
  std::vector<std::vector<ByteRange>> phases;
  /// Distance in bytes from a block's ranges to the ranges of the next block along x, y and z.
  std::array<std::int64_t, 3> step{};
  /// Shifts in bytes by block number, if not described by `step`; kNothing: the block has no
  /// access.
  std::vector<std::int64_t> shifts;
  ByteRange within;           ///< buffer of the ranges; no block's accesses extend past it
  bool is_scattered = false;  ///< addresses depend on data and may be anywhere in the buffer
};

void join(std::vector<ByteRange>& ranges);

/// Footprint of a launch. In a launch with clusters, "block" means a cluster here.
struct GridFootprint {
  Extent grid;
  Extent block;  ///< block whose ranges are in `parts`
  std::size_t phases = 0;
  std::vector<GridPart> parts;
  /// Whether all blocks were executed, so that each part has the ranges of a single block.
  bool has_parts_of_each_block = false;
  std::string refusal;  ///< why the footprint is unknown; empty if it is known

  /// Distance in bytes from the ranges in `parts` to the ranges of block `number`, or
  /// GridPart::kNothing.
  std::int64_t shift(const GridPart& part, std::int64_t number) const;
  std::vector<std::int64_t> shifts(const GridPart& part) const;
  /// Whether `step` describes the shifts, and each block's shift exceeds the previous block's.
  bool ascends(const GridPart& part) const;
};

/// Throws sim::Fault, and sim::Stopped if `stop` returns true.
GridFootprint grid_footprint(const sim::LaunchState& launch, const std::function<bool()>& stop);

}  // namespace gpuexp
