// Sums over what several GPUs have of one result: each adds up some elements of all, and stores
// them to whoever wants them.
#pragma once

#include <algorithm>

#include "kernels/common/pack.cuh"
#include "kernels/common/rank_parts.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp {

/// Elements from a place of every rank's summand on, in order, and where their sums go. All begin
/// at multiples of 16 bytes.
template <class T>
struct Summed {
  Ranks<const T> from;
  Ranks<T> to;
  int copies;
  std::int64_t count;
};

/// Adds where the sums go: to a rank itself first, then to the next. At no time do all store to
/// one.
template <class T, class ToRank>
void add_targets(Summed<T>& sums, int rank, int ranks, bool pushed, ToRank to_rank) {
  sums.to.of[sums.copies++] = to_rank(rank);
  if (!pushed) return;
  for (const int peer : peers_from(rank, ranks))
    sums.to.of[sums.copies++] = to_rank(peer);
}

/// How ranks wait for each other around a sum.
enum class SumWaits {
  begin,   ///< for what kernels and copies ahead of it wrote. Nobody waits when he is done: who
           ///< writes summands in a later launch has waited for all ranks before.
  around,  ///< for the others to have begun, and at the end, so that nobody changes what is read
  around_pushed,  ///< likewise, and at the end for what all have stored
};

constexpr int kSumBlock = 512;

// In the order of the ranks and in fp32, whoever adds: all have equal bits. The loads of all ranks
// are on their way at once.
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

/// For packs of 16 bytes: no more blocks than are resident at once, since they wait for others.
/// Few packs are spread over as many SMs as blocks of four warps reach: an SM then has a block's
/// instructions alone, each scheduler a warp's. Many have large blocks, which tell less.
inline Shape waiting_blocks(std::int64_t bytes, const DeviceSpec& device,
                            std::int64_t most_blocks) {
  constexpr std::int64_t kPackBytes = 16;
  constexpr std::int64_t kSpreadBlock = 128;
  const std::int64_t packs = ceil_div(bytes, kPackBytes);
  const std::int64_t of_each_sm = ceil_div(ceil_div(packs, device.sm_count), kWarp) * kWarp;
  const std::int64_t threads =
      std::clamp<std::int64_t>(of_each_sm, kSpreadBlock, std::int64_t{kSumBlock});
  return shape_of_blocks(
      std::clamp<std::int64_t>(ceil_div(packs, threads), 1,
                               std::min<std::int64_t>(kMostSignalBlocks, most_blocks)),
      std::clamp(ceil_div(packs, kWarp) * kWarp, std::int64_t{kWarp}, threads));
}
/// At most, of what has the device to itself.
inline std::int64_t blocks_beside_nothing(const DeviceSpec& device) {
  constexpr std::int64_t kBlocksPerSm = 2;
  return kBlocksPerSm * device.sm_count;
}

/// Sums of which the longest of all ranks' has `most_count` elements: the grids of all are equal,
/// and of `most_blocks` at most.
template <SumWaits kWaits, class T>
Steps summed_by_ranks(const Summed<T>& sums, const RankPeers& peers, std::int64_t most_count,
                      const DeviceSpec& device, std::int64_t most_blocks, Extent outputs) {
  Shape shape =
      waiting_blocks(most_count * static_cast<std::int64_t>(sizeof(T)), device, most_blocks);
  shape.tile = {ceil_div(outputs.x, shape.grid.x), outputs.y, 1};
  const auto kernel =
      for_ranks(peers.ranks, [](auto ranks) { return &sum_kernel<T, kWaits, ranks()>; });
  return launch(kernel, shape, sums, peers);
}

}  // namespace gpuexp
