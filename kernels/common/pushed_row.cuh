// A row of a matrix that the blocks of a cluster share. Each block pushes its partial result to the
// shared memory of the others.
//
// ClusterRow (row_group.cuh) reads the partial results of the other blocks after a barrier of the
// cluster. ptxas turns this barrier into a fence that waits until all global stores of the thread
// have completed. Blocks of a ClusterRow also cannot exit before the others have read. A pushed
// store signals its arrival at an mbarrier of the destination, so a thread waits only for the
// results that it needs.
#pragma once

#include "kernels/common/pushed_stores.cuh"
#include "kernels/common/row_group.cuh"

namespace gpuexp {

/// Slots 0 and 1 are used alternately, any number of times. Blocks call sync_row_group() before the
/// first use.
struct PushedRow : ClusterRow {
  static constexpr int kSlots = 2;
  mutable unsigned parities = 0;  ///< phase parities of the slots' barriers, one bit each

  __device__ PushedRow() {
    if (threadIdx.x == 0) init_barriers(arrivals(), kSlots);
    __syncwarp();
    arrive_in_cluster();
  }
  /// Combines `v` over all threads of all blocks and returns the result to each thread. No block
  /// can overwrite a slot too early: it pushes to a slot again only after all others have pushed to
  /// the other slot, which they do after reading this one.
  template <int kSlot, class T, class Operation>
  __device__ T all_reduce(T v, Operation operation) const {
    static_assert(kSlot < kSlots && sizeof(T) % sizeof(unsigned) == 0, "words are pushed");
    __shared__ T of_blocks[kMaxClusterBlocks];
    Barrier* const arrived = arrivals() + kSlot;
    BlockRow block;
    v = block.template all_reduce<kSlot>(v, operation);
    if (threadIdx.x == 0) arrive_expect_tx(arrived, blocks * sizeof(T));
    const int to_block = min(static_cast<int>(threadIdx.x), blocks - 1);
    const unsigned to = map_shared_rank(shared_address(of_blocks + rank), to_block);
    const unsigned barrier = map_shared_rank(shared_address(arrived), to_block);
    unsigned words[sizeof(T) / sizeof(unsigned)];
    memcpy(words, &v, sizeof v);
#pragma unroll
    for (unsigned i = 0; i < sizeof words / sizeof *words; ++i)
      push_word(static_cast<int>(threadIdx.x) < blocks, to + i * sizeof *words, words[i], barrier);
    wait_for_phase(arrived, parities >> kSlot & 1);
    parities ^= 1 << kSlot;
    const int other = threadIdx.x % kMaxClusterBlocks;
    return reduce_lanes<kMaxClusterBlocks>(
        other < blocks ? of_blocks[other] : Operation::identity(), operation);
  }
  __device__ void sync_before_exit() const {}

 private:
  __device__ static Barrier* arrivals() {
    __shared__ Barrier slot_barriers[kSlots];
    return slot_barriers;
  }
};

/// Waits until all blocks that share a row have started. Loads can be issued before.
__device__ inline void sync_row_group(const BlockRow&) {}
__device__ inline void sync_row_group(const PushedRow&) {
  wait_for_cluster();
}

}  // namespace gpuexp
