// A row of a matrix that the blocks of a cluster share. Each block stores its partial result to
// the shared memory of all blocks.
//
// ClusterRow (row_group.cuh) reads the other blocks' partial results after a cluster barrier.
// ptxas compiles this barrier to a fence that waits for all global stores of the thread. Blocks
// of a ClusterRow also cannot exit before the other blocks have read. A pushed store signals its
// arrival at an mbarrier of the destination, so a thread waits only for the results that it
// needs.
#pragma once

#include "kernels/common/pushed_stores.cuh"
#include "kernels/common/row_group.cuh"

namespace gpuexp {

/// Calls of all_reduce() must alternate between slots 0 and 1. Blocks must call sync_row_group()
/// before the first call.
struct PushedRow : ClusterRow {
  static constexpr int kSlots = 2;
  mutable unsigned parities = 0;  ///< phase parities of the slots' barriers, one bit each

  __device__ PushedRow() {
    if (threadIdx.x == 0) init_barriers(arrivals(), kSlots);
    __syncwarp();
    arrive_in_cluster();
  }
  /// Reduces `v` over all threads of all blocks, and returns the result to each thread. A block
  /// stores to a slot again only after all blocks have stored to the other slot. Each block stores
  /// to the other slot after it has read this slot, so no slot is overwritten too early.
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

/// Waits until all blocks that share a row have started. Loads can be issued before this call.
__device__ inline void sync_row_group(const BlockRow&) {}
__device__ inline void sync_row_group(const PushedRow&) {
  wait_for_cluster();
}

}  // namespace gpuexp
