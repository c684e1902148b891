// Sums of vectors that lie on several GPUs, read where they lie.
#pragma once

#include <algorithm>

#include "kernels/common/pack.cuh"
#include "kernels/common/rank_signals.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::collectives {

// Elements [first, end) that one rank makes, from the other ranks' x.
template <class T>
struct Share {
  Ranks<const T> x;
  Ranks<T> y;
  std::int64_t first;
  std::int64_t end;
};

constexpr int kSumBlock = 512;

// In the order of the ranks, whoever adds: all have equal bits. The sum goes to the own y, or,
// pushed, to that of all ranks.
template <class T, bool kPushed>
__global__ void __launch_bounds__(kSumBlock) sum_kernel(Share<T> share, RankPeers peers) {
  constexpr int kElements = 16 / sizeof(T);
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::loads>(peers, epoch, 0);
  const std::int64_t packs = (share.end - share.first) / kElements;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += stride) {
    const std::int64_t at = share.first + i * kElements;
    Pack<T, kElements> of_rank[kMostRanks];
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < peers.ranks) of_rank[r] = load_pack<kElements>(share.x.of[r] + at);
    }
    float2 sum[kElements / 2] = {};
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= peers.ranks) continue;
#pragma unroll
      for (int j = 0; j < kElements / 2; ++j) {
        const float2 more = widen(of_rank[r].pairs[j]);
        sum[j] = {sum[j].x + more.x, sum[j].y + more.y};
      }
    }
    Pack<T, kElements> total;
#pragma unroll
    for (int j = 0; j < kElements / 2; ++j)
      total.pairs[j] = narrow<T>(sum[j]);
#pragma unroll
    // Each begins with itself: at no time do all store to one.
    for (int j = 0; j < kMostRanks; ++j) {
      if (j < (kPushed ? peers.ranks : 1))
        store_pack(share.y.of[(peers.rank + j) % peers.ranks] + at, total);
    }
  }
  // What is left of a pack.
  const std::int64_t rest = share.first + packs * kElements + threadIdx.x;
  if (blockIdx.x == 0 && rest < share.end) {
    float sum = 0;
    for (int r = 0; r < peers.ranks; ++r)
      sum += static_cast<float>(share.x.of[r][rest]);
    for (int r = 0; r < peers.ranks; ++r) {
      if (kPushed || r == peers.rank) share.y.of[r][rest] = from_float<T>(sum);
    }
  }
  wait_for_ranks<kPushed ? Before::stores : Before::loads>(peers, epoch, 1);
  end_epoch(peers, epoch);
}

/// As many blocks as there is work for, and no more than are resident at once: they wait for
/// others.
inline Shape resident_blocks(std::int64_t bytes, const DeviceSpec& device) {
  constexpr std::int64_t kBlocksPerSm = 2;
  constexpr std::int64_t kWarp = 32;
  Shape shape;
  // A small block starts sooner.
  shape.block = {std::clamp(ceil_div(bytes, 16 * kWarp) * kWarp, kWarp, std::int64_t{kSumBlock}), 1,
                 1};
  shape.grid = {std::clamp<std::int64_t>(
                    ceil_div(bytes, 16 * kSumBlock), 1,
                    std::min<std::int64_t>(kMostSignalBlocks, kBlocksPerSm * device.sm_count)),
                1, 1};
  return shape;
}

}  // namespace gpuexp::collectives
