// Sums over what several GPUs have of one result: each adds up some elements of all, and stores
// them to whoever wants them.
#pragma once

#include <algorithm>

#include "kernels/common/pack.cuh"
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

constexpr int kSumBlock = 512;

// In the order of the ranks and in fp32, whoever adds: all have equal bits. Nobody waits when he is
// done: who writes summands in a later launch has waited for all ranks before.
template <class T>
__global__ void __launch_bounds__(kSumBlock) sum_kernel(Summed<T> summed, RankPeers peers) {
  constexpr int kPack = 16 / sizeof(T);
  const unsigned epoch = epoch_of(peers);
  // What this rank's kernels and copies ahead of this one wrote has to be there for the others.
  wait_for_ranks<Before::stores>(peers, epoch, 0);
  const std::int64_t packs = summed.count / kPack;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += stride) {
    Pack<T, kPack> of_rank[kMostRanks];
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < peers.ranks) of_rank[r] = load_pack<kPack>(summed.from.of[r] + i * kPack);
    }
    float2 sum[kPack / 2] = {};
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= peers.ranks) continue;
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
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < summed.copies) store_pack(summed.to.of[r] + i * kPack, total);
    }
  }
  const std::int64_t rest = packs * kPack + threadIdx.x;
  if (blockIdx.x == 0 && rest < summed.count) {
    float sum = 0;
    for (int r = 0; r < peers.ranks; ++r)
      sum += static_cast<float>(summed.from.of[r][rest]);
    for (int r = 0; r < summed.copies; ++r)
      summed.to.of[r][rest] = from_float<T>(sum);
  }
  end_epoch(peers, epoch);
}

/// Sums of which the longest of all ranks' has `most_count` elements: the grids of all are equal,
/// and of `most_blocks` at most.
template <class T>
Steps summed_by_ranks(const Summed<T>& sums, const RankPeers& peers, std::int64_t most_count,
                      std::int64_t most_blocks, Extent outputs) {
  constexpr std::int64_t kPack = 16 / sizeof(T);
  Shape shape;
  shape.block = {kSumBlock, 1, 1};
  shape.grid = {std::clamp<std::int64_t>(ceil_div(most_count, kPack * kSumBlock), 1,
                                         std::min<std::int64_t>(kMostSignalBlocks, most_blocks)),
                1, 1};
  shape.tile = {ceil_div(outputs.x, shape.grid.x), outputs.y, 1};
  return launch(sum_kernel<T>, shape, sums, peers);
}

}  // namespace gpuexp
