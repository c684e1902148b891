// Launch shapes of kernels, and conditions for expected changes and `unsupported`.
#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "family/family_of.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp {

inline constexpr int kWarp = 32;  // threads; warpSize is not a compile-time constant
inline constexpr unsigned kAllLanes = ~0u;

inline Shape shape_of_blocks(std::int64_t blocks, std::int64_t threads) {
  Shape s;
  s.block.x = threads;
  s.grid.x = blocks;
  return s;
}

/// Grid in up to three dimensions. Each block covers a tile of the outputs.
inline Shape shape_of_blocks(const Extent& blocks, const Extent& block, const Extent& tile,
                             std::int64_t dynamic_shared_bytes = 0) {
  Shape s;
  s.grid = blocks;
  s.block = block;
  s.tile = tile;
  s.dynamic_shared_bytes = dynamic_shared_bytes;
  return s;
}

/// Grid that covers n outputs. Each block covers `tile` consecutive outputs.
inline Shape shape_of_tiles(std::int64_t n, std::int64_t tile, std::int64_t threads) {
  Shape s = shape_of_blocks(ceil_div(n, tile), threads);
  s.tile.x = tile;
  return s;
}

/// Grid that covers outputs in up to three dimensions. Each block covers a tile.
inline Shape shape_of_tiles(const Extent& outputs, const Extent& tile, const Extent& block,
                            std::int64_t dynamic_shared_bytes = 0) {
  return shape_of_blocks(
      {ceil_div(outputs.x, tile.x), ceil_div(outputs.y, tile.y), ceil_div(outputs.z, tile.z)},
      block, tile, dynamic_shared_bytes);
}
inline Shape shape_of_tiles(const Extent& outputs, const Extent& tile, std::int64_t threads,
                            std::int64_t dynamic_shared_bytes = 0) {
  return shape_of_tiles(outputs, tile, Extent{threads, 1, 1}, dynamic_shared_bytes);
}

inline Shape shape_of_shares(const Extent& blocks, const Extent& outputs, std::int64_t threads,
                             std::int64_t dynamic_shared_bytes = 0) {
  const auto share = [](std::int64_t all, std::int64_t parts) {
    return ceil_div(all, std::max<std::int64_t>(parts, 1));
  };
  return shape_of_blocks(
      blocks, {threads, 1, 1},
      {share(outputs.x, blocks.x), share(outputs.y, blocks.y), share(outputs.z, blocks.z)},
      dynamic_shared_bytes);
}

/// Calls each(i) for this thread's items i < count, with the grid's stride.
template <class Each>
__device__ __forceinline__ void for_items_of_thread(std::int64_t count, Each each) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    each(i);
}

/// Condition for expected changes: whether `amount`, a member or a function of the problem, is at
/// least `minimum`.
template <class Amount>
constexpr auto at_least(Amount amount, std::int64_t minimum) {
  return [of = detail::function_of_problem(amount), minimum](const auto& problem) {
    return of(problem) >= minimum;
  };
}

/// Function for `unsupported`: returns `reason` if holds(problem) is false.
template <class Holds>
auto needs(Holds holds, std::string reason) {
  return [=](const auto& problem, const DeviceSpec&) -> std::optional<std::string> {
    if (holds(problem)) return std::nullopt;
    return reason;
  };
}

}  // namespace gpuexp
