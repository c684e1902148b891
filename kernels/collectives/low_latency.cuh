// An all-reduce whose data say themselves that they have come (NCCL calls the protocol LL).
#pragma once

#include "kernels/collectives/problem.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp::collectives {

constexpr std::int64_t kMostInboxBytes = 1 << 20;  // of a vector

// Four bytes of data and the number of the launch: written and read at once, which of a vector's
// elements each is (PTX ISA, memory consistency model).
struct Flagged {
  std::uint64_t of[2];
};

__device__ inline std::uint64_t flagged(unsigned data, unsigned epoch) {
  return static_cast<std::uint64_t>(epoch) << 32 | data;
}
__device__ inline bool has_come(const Flagged& f, unsigned epoch) {
  return f.of[0] >> 32 == epoch && f.of[1] >> 32 == epoch;
}

__device__ inline void store_flagged(Flagged* to, uint2 data, unsigned epoch) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "l"(flagged(data.x, epoch)), "l"(flagged(data.y, epoch))
               : "memory");
}
__device__ inline Flagged load_flagged(const Flagged* from) {
  Flagged f;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(f.of[0]), "=l"(f.of[1])
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return f;
}

// Blocks are small, so that they start soon, and there are many.
constexpr int kSmallBlock = 128;

// Two elements of fp32, or four of bf16.
template <class T>
using Unit = Pack<T, 8 / sizeof(T)>;

template <class T>
__device__ Unit<T> unit_at(const T* x, std::int64_t i, std::int64_t n) {
  constexpr int kElements = 8 / sizeof(T);
  if ((i + 1) * kElements <= n) return load_pack<kElements>(x + i * kElements);
  T some[kElements] = {};
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    if (i * kElements + j < n) some[j] = x[i * kElements + j];
  }
  Unit<T> unit;
  memcpy(&unit, some, sizeof unit);
  return unit;
}

template <class T>
__global__ void __launch_bounds__(kSmallBlock)
    low_latency_kernel(const T* x, T* y, std::int64_t n, Ranks<std::uint32_t> inboxes,
                       RankPeers peers) {
  constexpr int kElements = 8 / sizeof(T);
  const std::int64_t units = (n + kElements - 1) / kElements;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSmallBlock;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSmallBlock + threadIdx.x;
  Unit<T> own{};
  if (i < units) own = unit_at(x, i, n);  // on its way while the epoch is
  const unsigned epoch = epoch_of(peers);
  const std::int64_t turn = static_cast<std::int64_t>(epoch % 2) * peers.ranks;
  for (; i < units; i += stride) {
    if (i >= stride) own = unit_at(x, i, n);
    uint2 data;
    memcpy(&data, &own, sizeof data);
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < peers.ranks && r != peers.rank)
        store_flagged(reinterpret_cast<Flagged*>(inboxes.of[r]) + (turn + peers.rank) * units + i,
                      data, epoch);
    }
    const auto* const inbox =
        reinterpret_cast<const Flagged*>(inboxes.of[peers.rank]) + turn * units + i;
    Flagged come[kMostRanks];
    int missing = 0;
    for (unsigned looks = 0; missing >= 0; ++looks) {
      missing = -1;
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {
        if (r >= peers.ranks || r == peers.rank) continue;
        come[r] = load_flagged(inbox + r * units);
        if (!has_come(come[r], epoch)) missing = r;
      }
      if (looks > kMostLooks) give_up_waiting(peers, missing, 0);
    }
    float2 sum[kElements / 2] = {};
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= peers.ranks) continue;
      Unit<T> of_rank = own;
      if (r != peers.rank) {
        data = {static_cast<unsigned>(come[r].of[0]), static_cast<unsigned>(come[r].of[1])};
        memcpy(&of_rank, &data, sizeof data);
      }
#pragma unroll
      for (int j = 0; j < kElements / 2; ++j) {
        const float2 more = widen(of_rank.pairs[j]);
        sum[j] = {sum[j].x + more.x, sum[j].y + more.y};
      }
    }
    Unit<T> total;
#pragma unroll
    for (int j = 0; j < kElements / 2; ++j)
      total.pairs[j] = narrow<T>(sum[j]);
    if ((i + 1) * kElements <= n) {
      store_pack(y + i * kElements, total);
    } else {
      T some[kElements];
      memcpy(some, &total, sizeof some);
#pragma unroll
      for (int j = 0; j < kElements; ++j) {
        if (i * kElements + j < n) y[i * kElements + j] = some[j];
      }
    }
  }
  __syncthreads();
  end_epoch(peers, epoch);
}

}  // namespace gpuexp::collectives
