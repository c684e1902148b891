// A cluster of blocks has a row of a matrix, and each block pushes what it found to the others.
//
// ClusterRow (row_group.cuh) reads it from them behind a barrier of the cluster. That barrier
// orders what was stored before it: ptxas makes a fence of it that waits until global memory has
// all stores of the thread, and blocks cannot end before the others have read. Stores that are
// pushed bring their own notice instead: nothing waits for anything else.
#pragma once

#include "kernels/common/pushed_stores.cuh"
#include "kernels/common/row_group.cuh"

namespace gpuexp {

/// Slots 0 and 1 can be used again and again, in turn; first of all, blocks meet().
struct PushedRow : ClusterRow {
  static constexpr int kSlots = 2;
  mutable unsigned parities = 0;  ///< of the slots' barriers

  __device__ PushedRow() {
    if (threadIdx.x == 0) init_barriers(arrivals(), kSlots);
    __syncwarp();
    arrive_in_cluster();
  }
  /// What all blocks found, of which each has all in its shared memory. Others' parts cannot come
  /// before their turn: a block pushes to a slot again when all others have pushed to the other
  /// one, which they did after they had read.
  template <int kSlot, class T, class Operation>
  __device__ T all(T v, Operation operation) const {
    static_assert(kSlot < kSlots && sizeof(T) % sizeof(unsigned) == 0, "words are pushed");
    __shared__ T of_blocks[kMostClusterBlocks];
    Barrier* const arrived = arrivals() + kSlot;
    BlockRow block;
    v = block.template all<kSlot>(v, operation);
    if (threadIdx.x == 0) expect_bytes(arrived, blocks * sizeof(T));
    const int to_block = min(static_cast<int>(threadIdx.x), blocks - 1);
    const unsigned to = mapped_shared(shared_address(of_blocks + rank), to_block);
    const unsigned barrier = mapped_shared(shared_address(arrived), to_block);
    unsigned words[sizeof(T) / sizeof(unsigned)];
    memcpy(words, &v, sizeof v);
#pragma unroll
    for (unsigned i = 0; i < sizeof words / sizeof *words; ++i)
      push_word(static_cast<int>(threadIdx.x) < blocks, to + i * sizeof *words, words[i], barrier);
    wait_for_phase(arrived, parities >> kSlot & 1);
    parities ^= 1 << kSlot;
    const int other = threadIdx.x % kMostClusterBlocks;
    return of_lanes<kMostClusterBlocks>(other < blocks ? of_blocks[other] : Operation::none(),
                                        operation);
  }
  __device__ void leave() const {}

 private:
  __device__ static Barrier* arrivals() {
    __shared__ Barrier of_slots[kSlots];
    return of_slots;
  }
};

/// Waits until all blocks that share a row are there. What they load can be on its way before.
__device__ inline void meet(const BlockRow&) {}
__device__ inline void meet(const PushedRow&) {
  wait_for_cluster();
}

}  // namespace gpuexp
