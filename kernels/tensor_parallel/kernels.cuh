// What carries a product's results between GPUs, and sums what several of them have of one.
#pragma once

#include "kernels/common/pack.cuh"
#include "kernels/common/rank_signals.cuh"
#include "kernels/tensor_parallel/problem.cuh"

namespace gpuexp::tensor_parallel {

constexpr int kBlock = 512;

/// A rectangle of a matrix on its way to others of the same pitch; the first unit of each.
struct Sent {
  const void* from;
  Ranks<void> to;
  int copies;
  std::int64_t rows;
  std::int64_t row_units;
  std::int64_t pitch;  // in units
};

// Each unit is read once, and stored to all.
template <class Unit>
__global__ void __launch_bounds__(kBlock) send_kernel(Sent sent) {
  constexpr int kUnroll = 4;
  const auto* const from = static_cast<const Unit*>(sent.from);
  const std::int64_t units = sent.rows * sent.row_units;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
       first < units; first += kUnroll * threads) {
    Unit v[kUnroll];
    std::int64_t at[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const std::int64_t i = first + j * threads;
      at[j] = i / sent.row_units * sent.pitch + i % sent.row_units;
      if (i < units) v[j] = from[at[j]];
    }
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= sent.copies) continue;
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) {
        if (first + j * threads < units) static_cast<Unit*>(sent.to.of[r])[at[j]] = v[j];
      }
    }
  }
}

/// Elements from a place of every rank's summand on, and where their sums go.
struct Summed {
  Ranks<const T> from;
  Ranks<T> to;
  int copies;
  std::int64_t count;
};

// In the order of the ranks and in fp32, whoever adds: all have equal bits. Nobody waits when he is
// done: who writes summands next waits for all ranks before.
__global__ void __launch_bounds__(kBlock) sum_kernel(Summed summed, RankPeers peers) {
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

}  // namespace gpuexp::tensor_parallel
