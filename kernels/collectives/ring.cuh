// All-reduce around a ring: each GPU stores only to the next GPU.
#pragma once

#include "kernels/collectives/problem.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp::collectives {

/// x and y of one rank, y of the next rank, and the start of each part.
template <class T>
struct Ring {
  const T* x;
  T* y;
  T* next;
  std::int64_t begins[kMaxRanks + 1];
  std::int64_t slice;  ///< maximum number of elements per part that one block processes
};

template <class T>
__device__ Pack<T, 16 / sizeof(T)> sum_of(const Pack<T, 16 / sizeof(T)>& a,
                                          const Pack<T, 16 / sizeof(T)>& b) {
  Pack<T, 16 / sizeof(T)> sum;
#pragma unroll
  for (int j = 0; j < static_cast<int>(8 / sizeof(T)); ++j) {
    const float2 of_a = widen(a.pairs[j]);
    const float2 of_b = widen(b.pairs[j]);
    sum.pairs[j] = narrow<T>(float2{of_a.x + of_b.x, of_a.y + of_b.y});
  }
  return sum;
}

// Block sizes are compile-time constants: loops whose stride is constant reach a larger share of
// the link's rate than loops whose stride is known only at run time.
constexpr int kShortRingBlock = 128;
constexpr int kLongRingBlock = 512;

// Data that a block sends: its own x, x plus the received part, this sum if complete, or the
// received part unchanged.
enum class Passes { own, sum, whole_sum, received };

/// Stores elements [first, end) of a part to the next rank's y. A complete sum is also stored to
/// the rank's own y.
template <class T, Passes kPasses, int kBlock>
__device__ void pass_on(const Ring<T>& ring, std::int64_t first, std::int64_t end) {
  constexpr int kElements = 16 / sizeof(T);
  constexpr bool kIsSum = kPasses == Passes::sum || kPasses == Passes::whole_sum;
  const std::int64_t packs = (end - first) / kElements;
  for (std::int64_t i = threadIdx.x; i < packs; i += kBlock) {
    const std::int64_t at = first + i * kElements;
    Pack<T, kElements> value =
        load_pack<kElements>((kPasses == Passes::received ? ring.y : ring.x) + at);
    if (kIsSum) value = sum_of<T>(load_pack<kElements>(ring.y + at), value);
    if (kPasses == Passes::whole_sum) store_pack(ring.y + at, value);
    store_pack(ring.next + at, value);
  }
  const std::int64_t at = first + packs * kElements + threadIdx.x;
  if (at >= end) return;
  T value = kPasses == Passes::received ? ring.y[at] : ring.x[at];
  if (kIsSum) value = from_float<T>(static_cast<float>(ring.y[at]) + static_cast<float>(value));
  if (kPasses == Passes::whole_sum) ring.y[at] = value;
  ring.next[at] = value;
}

// Each block processes a slice of every part, and waits for the block with the same index on the
// previous rank.
template <class T, int kBlock>
__global__ void __launch_bounds__(kBlock) ring_kernel(Ring<T> ring, RankPeers peers) {
  const int last = peers.ranks - 1;
  const int next = peers.rank == last ? 0 : peers.rank + 1;
  const int before = peers.rank == 0 ? last : peers.rank - 1;
  const std::int64_t first_in_part = ring.slice * blockIdx.x;
  const unsigned epoch = epoch_of(peers);
  // When the next rank has started this launch, it no longer uses its y of the previous launch.
  signal_rank<Before::loads>(peers, epoch, 0, before);
  wait_for_rank(peers, epoch, 0, next);
  int part = peers.rank;
  for (int step = 0; step < 2 * last; ++step) {
    const std::int64_t begin = ring.begins[part];
    const std::int64_t length = ring.begins[part + 1] - begin;
    const std::int64_t first = begin + min(length, first_in_part);
    const std::int64_t end = begin + min(length, first_in_part + ring.slice);
    if (step == 0) {
      pass_on<T, Passes::own, kBlock>(ring, first, end);
    } else if (step < last) {
      pass_on<T, Passes::sum, kBlock>(ring, first, end);
    } else if (step == last) {
      pass_on<T, Passes::whole_sum, kBlock>(ring, first, end);
    } else {
      pass_on<T, Passes::received, kBlock>(ring, first, end);
    }
    signal_rank<Before::stores>(peers, epoch, step + 1, next);
    wait_for_rank(peers, epoch, step + 1, before);
    part = part == 0 ? last : part - 1;
  }
  end_epoch(peers, epoch);
}

}  // namespace gpuexp::collectives
