// Sums of the partial results of several GPUs. Each rank sums a range of elements over all ranks,
// and stores the sums to the ranks that need them.
#pragma once

#include <algorithm>

#include "kernels/common/pack.cuh"
#include "kernels/common/rank_parts.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp {

/// A range of elements of each rank's partial result, and the destinations of the sums. All
/// addresses are multiples of 16 bytes.
template <class T>
struct Summed {
  Ranks<const T> from;
  Ranks<T> to;
  int copies;
  std::int64_t count;
};

/// Adds the destinations of a rank's sums: the rank itself and, if `pushed`, all other ranks. The
/// other ranks start with the next rank, so that not all ranks store to the same rank at the same
/// time.
template <class T, class ToRank>
void add_targets(Summed<T>& sums, int rank, int ranks, bool pushed, ToRank to_rank) {
  sums.to.of[sums.copies++] = to_rank(rank);
  if (!pushed) return;
  for (const int peer : peers_from(rank, ranks))
    sums.to.of[sums.copies++] = to_rank(peer);
}

enum class SumWaits {
  begin,   ///< before the sum, for the stores of earlier kernels and copies. No rank waits at the
           ///< end: a rank that later stores partial results has waited for all ranks before.
  around,  ///< before the sum until all ranks have started, and at the end until all ranks have
           ///< loaded
  around_pushed,  ///< as `around`; the wait at the end also covers the stores of all ranks
};

constexpr int kSumBlock = 512;

// Sums the ranks' elements in fp32 in the order of the ranks, so that a sum is bitwise
// identical on all ranks that compute it. The loads from all ranks are in flight at the same time.
template <class T, SumWaits kWaits, int kRanks>
__global__ void __launch_bounds__(kSumBlock) sum_kernel(Summed<T> summed, RankPeers peers) {
  constexpr int kPack = 16 / sizeof(T);
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<kWaits == SumWaits::begin ? Before::stores : Before::loads>(peers, epoch, 0);
  const std::int64_t packs = summed.count / kPack;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += stride) {
    Pack<T, kPack> of_rank[kRanks];
#pragma unroll
    for (int r = 0; r < kRanks; ++r)
      of_rank[r] = load_pack<kPack>(summed.from.of[r] + i * kPack);
    float2 sum[kPack / 2] = {};
#pragma unroll
    for (int r = 0; r < kRanks; ++r) {
#pragma unroll
      for (int j = 0; j < kPack / 2; ++j) {
        const float2 more = widen(of_rank[r].pairs[j]);
        sum[j] = {sum[j].x + more.x, sum[j].y + more.y};
      }
    }
    Pack<T, kPack> total;
#pragma unroll
    for (int j = 0; j < kPack / 2; ++j)
      total.pairs[j] = narrow<T>(sum[j]);
#pragma unroll
    for (int r = 0; r < kRanks; ++r) {
      if (r < summed.copies) store_pack(summed.to.of[r] + i * kPack, total);
    }
  }
  const std::int64_t rest = packs * kPack + threadIdx.x;
  if (blockIdx.x == 0 && rest < summed.count) {
    float sum = 0;
    for (int r = 0; r < kRanks; ++r)
      sum += static_cast<float>(summed.from.of[r][rest]);
    for (int r = 0; r < summed.copies; ++r)
      summed.to.of[r][rest] = from_float<T>(sum);
  }
  if (kWaits == SumWaits::around) wait_for_ranks<Before::loads>(peers, epoch, 1);
  if (kWaits == SumWaits::around_pushed) wait_for_ranks<Before::stores>(peers, epoch, 1);
  end_epoch(peers, epoch);
}

/// Launch shape for `bytes` bytes in packs of 16. All blocks must be resident at the same time,
/// because they wait for other ranks. Small problems use as many SMs as possible, with at least
/// one block of four warps each: one warp per scheduler. Large problems use large blocks, which
/// store fewer signals.
inline Shape waiting_blocks(std::int64_t bytes, const DeviceSpec& device,
                            std::int64_t most_blocks) {
  constexpr std::int64_t kPackBytes = 16;
  constexpr std::int64_t kSpreadBlock = 128;
  const std::int64_t packs = ceil_div(bytes, kPackBytes);
  const std::int64_t threads_per_sm = ceil_div(ceil_div(packs, device.sm_count), kWarp) * kWarp;
  const std::int64_t threads =
      std::clamp<std::int64_t>(threads_per_sm, kSpreadBlock, std::int64_t{kSumBlock});
  return shape_of_blocks(
      std::clamp<std::int64_t>(ceil_div(packs, threads), 1,
                               std::min<std::int64_t>(kMaxSignalBlocks, most_blocks)),
      std::clamp(ceil_div(packs, kWarp) * kWarp, std::int64_t{kWarp}, threads));
}
/// Maximum number of blocks of a kernel that runs on an otherwise idle device.
inline std::int64_t max_blocks_on_idle_device(const DeviceSpec& device) {
  constexpr std::int64_t kBlocksPerSm = 2;
  return kBlocksPerSm * device.sm_count;
}

/// Sums the ranks' partial results. `max_count` is the maximum, over the ranks, of the number of
/// elements that a rank sums. It determines the grid, which must be equal on all ranks and has at
/// most `most_blocks` blocks.
template <SumWaits kWaits, class T>
Steps summed_by_ranks(const Summed<T>& sums, const RankPeers& peers, std::int64_t max_count,
                      const DeviceSpec& device, std::int64_t most_blocks, Extent outputs) {
  Shape shape =
      waiting_blocks(max_count * static_cast<std::int64_t>(sizeof(T)), device, most_blocks);
  shape.tile = {ceil_div(outputs.x, shape.grid.x), outputs.y, 1};
  const auto kernel =
      for_ranks(peers.ranks, [](auto ranks) { return &sum_kernel<T, kWaits, ranks()>; });
  return launch(kernel, shape, sums, peers);
}

}  // namespace gpuexp
