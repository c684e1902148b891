// How blocks of one launch wait for the blocks of the same number on other GPUs, over memory that
// all of them reach.
//
// A launch counts up: each block has an epoch of its own, which is the same on all ranks, since all
// have made as many launches. What a rank has told in an epoch stays until it tells the next, so
// that nothing has to be cleared between launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/launch.cuh"

namespace gpuexp {

/// Of one launch that synchronises by these.
constexpr int kMostSignalBlocks = 512;
/// Times that a block waits for others in one launch, at most: as often as around a ring, there and
/// back, and for its begin.
constexpr int kMostSignalSteps = 2 * (kMostRanks - 1) + 1;

/// One rank's, as a buffer of role state: zero at first.
struct RankSignals {
  unsigned epoch[kMostSignalBlocks];  ///< launches that this rank's blocks have ended
  /// Epochs that the other ranks' blocks have told it, by step, block and rank.
  unsigned told[kMostSignalSteps][kMostSignalBlocks][kMostRanks];
};
constexpr std::int64_t kSignalWords = sizeof(RankSignals) / sizeof(unsigned);
/// Where the words are that others write.
constexpr std::int64_t kToldWord = offsetof(RankSignals, told) / sizeof(unsigned);

/// What a kernel of one rank needs to wait for others.
struct RankPeers {
  Ranks<unsigned> signals;  ///< RankSignals of each
  int rank;
  int ranks;
  WaitReport* report;
};

/// Of a launch of a problem that spans `gpus`.
template <class Problem, class Data>
RankPeers peers_of(const Problem& p, const Data& d, const LaunchContext& x) {
  return {d.signals, d.rank, p.gpus, x.report};
}

__device__ inline RankSignals& signals_of(const RankPeers& peers, int rank) {
  return *reinterpret_cast<RankSignals*>(peers.signals.of[rank]);
}

/// What a function gives for the number of ranks as a constant: a kernel that knows it has no loop
/// over ranks, and no branch for those that are not there.
template <int kMost = kMostRanks, class Function>
auto for_ranks(int ranks, Function function) {
  if constexpr (kMost > 2) {
    if (ranks < kMost) return for_ranks<kMost - 1>(ranks, function);
  }
  return function(std::integral_constant<int, kMost>{});
}

// The other side is another GPU: the scope is the system (PTX ISA, memory consistency model).
__device__ inline void tell(unsigned* to, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
/// What this thread has written, or seen written before a barrier of its block, is there first.
__device__ inline void tell_after_stores(unsigned* to, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
__device__ inline unsigned told(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}

/// A rank that does not come is somebody's fault, and is told before the launch is given up: after
/// so many looks, each of which waits for an answer of L2.
constexpr unsigned kMostLooks = 1u << 26;

/// Ends the launch: nothing that comes behind it in its stream will run.
__device__ inline void give_up_waiting(const RankPeers& peers, int missing, unsigned step) {
  peers.report->step = step;
  peers.report->missing = missing + 1;
  __threadfence_system();
  __trap();
}

/// The epoch of this launch, the same for all threads of the block and on all ranks.
__device__ inline unsigned epoch_of(const RankPeers& peers) {
  return signals_of(peers, peers.rank).epoch[blockIdx.x] + 1;
}

/// What a block has done for the others before it comes to a step.
enum class Before {
  loads,  ///< nothing, or read what they may change from then on
  stores  ///< written what they read from then on: it has to be there, which takes a fence
};

/// Tells the block of this number on one rank that this one has come to this step. By all threads
/// of the block.
template <Before kBefore>
__device__ inline void tell_rank(const RankPeers& peers, unsigned epoch, int step, int rank) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned* const to = &signals_of(peers, rank).told[step][blockIdx.x][peers.rank];
  if (kBefore == Before::stores) {
    tell_after_stores(to, epoch);
  } else {
    tell(to, epoch);
  }
}

/// Waits until the block of this number on one rank has come to this step, likewise.
__device__ inline void wait_for_rank(const RankPeers& peers, unsigned epoch, int step, int rank) {
  if (threadIdx.x == 0) {
    const unsigned* const word = &signals_of(peers, peers.rank).told[step][blockIdx.x][rank];
    for (unsigned looks = 0; static_cast<int>(told(word) - epoch) < 0; ++looks) {
      if (looks > kMostLooks) give_up_waiting(peers, rank, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// Waits until the blocks of this number on all ranks have come to this step. By all threads of the
/// block.
template <Before kBefore>
__device__ inline void wait_for_ranks(const RankPeers& peers, unsigned epoch, int step) {
  __syncthreads();
  const int other = static_cast<int>(threadIdx.x);
  if (other < peers.ranks) {
    unsigned* const to = &signals_of(peers, other).told[step][blockIdx.x][peers.rank];
    if (kBefore == Before::stores) {
      tell_after_stores(to, epoch);
    } else {
      tell(to, epoch);
    }
    const unsigned* const word = &signals_of(peers, peers.rank).told[step][blockIdx.x][other];
    // One that is ahead has told a later epoch already.
    for (unsigned looks = 0; static_cast<int>(told(word) - epoch) < 0; ++looks) {
      if (looks > kMostLooks) give_up_waiting(peers, other, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// The block's last act: its next launch has the next epoch. Behind a wait_for_ranks or a barrier
/// of the block.
__device__ inline void end_epoch(const RankPeers& peers, unsigned epoch) {
  if (threadIdx.x == 0) signals_of(peers, peers.rank).epoch[blockIdx.x] = epoch;
}

}  // namespace gpuexp
