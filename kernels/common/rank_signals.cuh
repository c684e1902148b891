// Synchronization between blocks with the same index on different GPUs, through memory that all
// ranks can access.
//
// Each block has an epoch: the number of its launches, which is equal on all ranks. To signal, a
// rank stores its epoch in a flag. The flag keeps this value until the rank stores its next
// epoch, so flags are not cleared between launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/launch.cuh"

namespace gpuexp {

/// Maximum number of blocks in a launch that synchronizes through these signals.
constexpr int kMaxSignalBlocks = 512;
/// Maximum number of waits of a block in one launch: one per step of two passes around a ring of
/// ranks, and one at the start.
constexpr int kMaxSignalSteps = 2 * (kMaxRanks - 1) + 1;

/// The signals of one rank, a buffer of role state, initially zero.
struct RankSignals {
  unsigned epoch[kMaxSignalBlocks];  ///< number of finished launches of each block
  /// Epochs that the blocks of other ranks have stored, by step, block and rank.
  unsigned flags[kMaxSignalSteps][kMaxSignalBlocks][kMaxRanks];
};
constexpr std::int64_t kSignalWords = sizeof(RankSignals) / sizeof(unsigned);
/// Index of the first word that other ranks write.
constexpr std::int64_t kFlagsWord = offsetof(RankSignals, flags) / sizeof(unsigned);

/// The kernel argument for waits: signals of all ranks, and the report of a failed wait.
struct RankPeers {
  Ranks<unsigned> signals;
  int rank;
  int ranks;
  WaitReport* report;
};

template <class Problem, class Data>
RankPeers peers_of(const Problem& p, const Data& d, const LaunchContext& x) {
  return {d.signals, d.rank, p.gpus, x.report};
}

__device__ inline RankSignals& signals_of(const RankPeers& peers, int rank) {
  return *reinterpret_cast<RankSignals*>(peers.signals.of[rank]);
}

/// Calls `function` with the number of ranks as a compile-time constant, so that kernels need no
/// loop over ranks and no branches for missing ranks.
template <int kMost = kMaxRanks, class Function>
auto for_ranks(int ranks, Function function) {
  if constexpr (kMost > 2) {
    if (ranks < kMost) return for_ranks<kMost - 1>(ranks, function);
  }
  return function(std::integral_constant<int, kMost>{});
}

// System scope, because another GPU loads the value (PTX ISA, memory consistency model).
__device__ inline void store_relaxed_sys(unsigned* to, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
/// Stores that this thread made, or its block made before a barrier, become visible before this
/// store.
__device__ inline void store_release_sys(unsigned* to, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
__device__ inline unsigned load_acquire_sys(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}

/// Number of polls, each one L2 round trip, after which a rank counts as missing and the launch
/// fails.
constexpr unsigned kMaxPolls = 1u << 26;

/// Reports the missing rank and traps, so later work in the stream does not run.
__device__ inline void give_up_waiting(const RankPeers& peers, int missing, unsigned step) {
  peers.report->step = step;
  peers.report->missing = missing + 1;
  __threadfence_system();
  __trap();
}

/// The epoch of this launch: equal in all threads of the block and on all ranks.
__device__ inline unsigned epoch_of(const RankPeers& peers) {
  return signals_of(peers, peers.rank).epoch[blockIdx.x] + 1;
}

/// Accesses to other ranks' data that a block made before it reached a step.
enum class Before {
  loads,  ///< none, or loads of data that other ranks may overwrite after the signal
  stores  ///< stores that other ranks read after the signal, which must be a release
};

/// Signals to the block with the same index on `rank` that this block has reached `step`. All
/// threads of the block call this.
template <Before kBefore>
__device__ inline void signal_rank(const RankPeers& peers, unsigned epoch, int step, int rank) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned* const to = &signals_of(peers, rank).flags[step][blockIdx.x][peers.rank];
  if (kBefore == Before::stores) {
    store_release_sys(to, epoch);
  } else {
    store_relaxed_sys(to, epoch);
  }
}

/// Waits until the block with the same index on `rank` has reached `step`. All threads of the
/// block call this.
__device__ inline void wait_for_rank(const RankPeers& peers, unsigned epoch, int step, int rank) {
  if (threadIdx.x == 0) {
    const unsigned* const word = &signals_of(peers, peers.rank).flags[step][blockIdx.x][rank];
    for (unsigned polls = 0; static_cast<int>(load_acquire_sys(word) - epoch) < 0; ++polls) {
      if (polls > kMaxPolls) give_up_waiting(peers, rank, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// signal_rank() and wait_for_rank() for all ranks at once.
template <Before kBefore>
__device__ inline void wait_for_ranks(const RankPeers& peers, unsigned epoch, int step) {
  __syncthreads();
  const int other = static_cast<int>(threadIdx.x);
  if (other < peers.ranks) {
    unsigned* const to = &signals_of(peers, other).flags[step][blockIdx.x][peers.rank];
    if (kBefore == Before::stores) {
      store_release_sys(to, epoch);
    } else {
      store_relaxed_sys(to, epoch);
    }
    const unsigned* const word = &signals_of(peers, peers.rank).flags[step][blockIdx.x][other];
    // A rank that is ahead may already have stored a later epoch.
    for (unsigned polls = 0; static_cast<int>(load_acquire_sys(word) - epoch) < 0; ++polls) {
      if (polls > kMaxPolls) give_up_waiting(peers, other, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// Ends the epoch of this launch. Must be the last action of a block, after wait_for_ranks() or a
/// barrier of the block.
__device__ inline void end_epoch(const RankPeers& peers, unsigned epoch) {
  if (threadIdx.x == 0) signals_of(peers, peers.rank).epoch[blockIdx.x] = epoch;
}

}  // namespace gpuexp
