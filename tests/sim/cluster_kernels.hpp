// Kernels whose blocks form clusters and compute from 256 words, and kernels with one fault each.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// Number of words that each kernel reads, and maximum number that it writes.
inline constexpr int kClusterInput = 256;
inline constexpr int kClusterOutput = 4096;

/// Clusters of 2 × 3 × 1 blocks in a grid of 4 × 6 × 2; each block writes kPlaceWords words.
inline constexpr int kPlaceWords = 12;
Steps cluster_places(const unsigned* in, unsigned* out);
/// Clusters of three blocks of 96 threads. Each block loads bytes, words and vectors of the next
/// block's shared memory, through shared::cluster and generic addresses.
Steps remote_loads(const unsigned* in, unsigned* out);
/// Each block stores to the next block's shared memory.
Steps remote_stores(const unsigned* in, unsigned* out);
/// Every thread of four blocks applies atomics to words in the first block's shared memory.
Steps remote_atomics(const unsigned* in, unsigned* out);
/// State space and cluster rank of addresses.
Steps address_spaces(const unsigned* in, unsigned* out);
/// A value is passed around five blocks, once per phase of the cluster barrier.
Steps barrier_phases(const unsigned* in, unsigned* out);
/// st.async and red.async to the next block, which waits on its mbarrier.
Steps async_stores(const unsigned* in, unsigned* out);
/// Threads of all blocks arrive on the first block's mbarrier.
Steps remote_arrivals(const unsigned* in, unsigned* out);
/// cp.async.bulk from each block's shared memory to the next block's.
Steps remote_bulk_copies(const unsigned* in, unsigned* out);
/// cp.async.bulk from global memory to two of three blocks.
Steps bulk_multicast(const unsigned* in, unsigned* out);
/// cp.reduce.async.bulk to global memory and to the next block's shared memory.
Steps bulk_reductions(const unsigned* in, unsigned* out);

/// Compiled for clusters of two blocks.
Steps fixed_clusters(unsigned* out);

/// With the fault, the simulator must report the line of cluster_faults.cu that names it in a
/// comment ("fault: …").
/// Loads past the end of the next block's shared memory.
Steps remote_overrun(bool is_faulty, unsigned* out);
/// Loads from a rank that the cluster does not have.
Steps no_such_block(bool is_faulty, unsigned* out);
/// Loads shared memory that no thread has written.
Steps remote_unwritten(bool is_faulty, unsigned* out);
/// The second block loads from the first one, which may have exited.
Steps exits_early(bool is_faulty, unsigned* out);
/// The first block loads from the second one, which exits without waiting for it.
Steps exits_unasked(bool is_faulty, unsigned* out);
/// One warp waits at a named barrier and never arrives at the cluster barrier.
Steps cluster_barrier_missed(bool is_faulty, unsigned* out);
/// Arrives twice at the cluster barrier.
Steps cluster_barrier_twice(bool is_faulty, unsigned* out);
/// Tests the phase of another block's mbarrier.
Steps remote_wait(bool is_faulty, unsigned* out);

}  // namespace gpuexp::test
