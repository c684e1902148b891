// Kernels whose blocks form clusters: what each computes of 256 words, and ones with a fault.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// Words that each kernel reads, and writes at most.
inline constexpr int kClusterInput = 256;
inline constexpr int kClusterOutput = 4096;

/// Clusters of 2 × 3 × 1 blocks in a grid of 4 × 6 × 2; 12 words of each block.
inline constexpr int kPlaceWords = 12;
Steps cluster_places(const unsigned* in, unsigned* out);
/// Clusters of three blocks of 96 threads. Each reads bytes, words and vectors of the next block's
/// shared memory, by its addresses and by generic ones.
Steps remote_loads(const unsigned* in, unsigned* out);
/// Each stores into the next block's.
Steps remote_stores(const unsigned* in, unsigned* out);
/// Every thread of four blocks changes words of the first block's.
Steps remote_atomics(const unsigned* in, unsigned* out);
/// What kind of memory addresses are of, and of which block.
Steps address_spaces(const unsigned* in, unsigned* out);
/// A value goes around five blocks, a step for each phase of the cluster's barrier.
Steps barrier_phases(const unsigned* in, unsigned* out);
/// st.async and red.async into the next block's, which waits at its mbarrier.
Steps async_stores(const unsigned* in, unsigned* out);
/// Threads of all blocks arrive at the first block's mbarrier.
Steps remote_arrivals(const unsigned* in, unsigned* out);
/// cp.async.bulk from each block's shared memory into the next one's.
Steps remote_bulk_copies(const unsigned* in, unsigned* out);
/// cp.async.bulk from global memory into two of three blocks.
Steps bulk_multicast(const unsigned* in, unsigned* out);
/// cp.reduce.async.bulk, into global memory and into the next block's shared memory.
Steps bulk_reductions(const unsigned* in, unsigned* out);

/// Compiled for clusters of two blocks.
Steps fixed_clusters(unsigned* out);

/// With the fault, the line of cluster_kernels.cu that has its name in a comment ("fault: …") is
/// the one to be reported.
/// Behind the end of the next block's shared memory.
Steps remote_overrun(bool is_faulty, unsigned* out);
/// A block that the cluster does not have.
Steps no_such_block(bool is_faulty, unsigned* out);
/// What nothing has written.
Steps remote_unwritten(bool is_faulty, unsigned* out);
/// The second block reads the first one's shared memory, which may have exited.
Steps exits_early(bool is_faulty, unsigned* out);
/// The first block reads the second one's, which then exits without waiting for it.
Steps exits_unasked(bool is_faulty, unsigned* out);
/// A block that waits for its own threads keeps the cluster waiting.
Steps cluster_barrier_missed(bool is_faulty, unsigned* out);
/// Arrives twice.
Steps cluster_barrier_twice(bool is_faulty, unsigned* out);
/// An mbarrier of another block is asked for its phase.
Steps remote_wait(bool is_faulty, unsigned* out);

}  // namespace gpuexp::test
