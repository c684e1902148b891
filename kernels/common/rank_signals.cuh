// Synchronization between blocks with the same index on different GPUs, through memory that all
// ranks can access.
//
// Each block has an epoch that counts its launches. It is equal on all ranks, because all ranks
// have made as many launches. A flag keeps the epoch that a rank stored until the rank stores the
// next one, so no flag is cleared between launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/launch.cuh"

namespace gpuexp {

/// Maximum number of blocks in a launch that synchronizes through these signals.
constexpr int kMaxSignalBlocks = 512;
/// Maximum number of waits of a block in one launch: one per step of two passes around a ring, and
/// one at the start.
constexpr int kMaxSignalSteps = 2 * (kMaxRanks - 1) + 1;

/// The signals of one rank, a buffer of role state, initially zero.
struct RankSignals {
  unsigned epoch[kMaxSignalBlocks];  ///< launches that each block of this rank has finished
  /// Epochs that the blocks of other ranks have stored here, by step, block and rank.
  unsigned flags[kMaxSignalSteps][kMaxSignalBlocks][kMaxRanks];
};
constexpr std::int64_t kSignalWords = sizeof(RankSignals) / sizeof(unsigned);
/// Index of the first word that other ranks write.
constexpr std::int64_t kFlagsWord = offsetof(RankSignals, flags) / sizeof(unsigned);

/// What a kernel of one rank needs to wait for the others.
struct RankPeers {
  Ranks<unsigned> signals;  ///< RankSignals of each rank
  int rank;
  int ranks;
  WaitReport* report;
};

/// The peers of a rank in a launch of a problem that spans `p.gpus` GPUs.
template <class Problem, class Data>
RankPeers peers_of(const Problem& p, const Data& d, const LaunchContext& x) {
  return {d.signals, d.rank, p.gpus, x.report};
}

__device__ inline RankSignals& signals_of(const RankPeers& peers, int rank) {
  return *reinterpret_cast<RankSignals*>(peers.signals.of[rank]);
}

/// Calls `function` with the number of ranks as a compile-time constant. A kernel with this
/// constant has no loop over ranks and no branches for missing ranks.
template <int kMost = kMaxRanks, class Function>
auto for_ranks(int ranks, Function function) {
  if constexpr (kMost > 2) {
    if (ranks < kMost) return for_ranks<kMost - 1>(ranks, function);
  }
  return function(std::integral_constant<int, kMost>{});
}

// The other side is another GPU, so the scope is the system (PTX ISA, memory consistency model).
__device__ inline void store_relaxed_sys(unsigned* to, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
/// Stores of this thread, and stores of its block before a barrier, become visible before this one.
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

/// Number of polls after which a rank counts as missing and the launch fails. Each poll waits for
/// an answer from L2.
constexpr unsigned kMaxPolls = 1u << 26;

/// Reports the missing rank and traps. Later work in the stream does not run.
__device__ inline void give_up_waiting(const RankPeers& peers, int missing, unsigned step) {
  peers.report->step = step;
  peers.report->missing = missing + 1;
  __threadfence_system();
  __trap();
}

/// The epoch of this launch, equal for all threads of the block and on all ranks.
__device__ inline unsigned epoch_of(const RankPeers& peers) {
  return signals_of(peers, peers.rank).epoch[blockIdx.x] + 1;
}

/// How a block accessed the data of other ranks before it reached a step.
enum class Before {
  loads,  ///< not at all, or by loads of data that others may overwrite afterwards
  stores  ///< by stores that others read afterwards: the signal must be a release
};

/// Signals to the block with the same index on `rank` that this block has reached `step`. All
/// threads of the block call it.
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

/// Waits until the block with the same index on `rank` has reached `step`. All threads of the block
/// call it.
__device__ inline void wait_for_rank(const RankPeers& peers, unsigned epoch, int step, int rank) {
  if (threadIdx.x == 0) {
    const unsigned* const word = &signals_of(peers, peers.rank).flags[step][blockIdx.x][rank];
    for (unsigned polls = 0; static_cast<int>(load_acquire_sys(word) - epoch) < 0; ++polls) {
      if (polls > kMaxPolls) give_up_waiting(peers, rank, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// Signals to the blocks with the same index on all ranks that this block has reached `step`, and
/// waits until they have reached it too. All threads of the block call it.
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
    // A rank that is ahead has already stored a later epoch.
    for (unsigned polls = 0; static_cast<int>(load_acquire_sys(word) - epoch) < 0; ++polls) {
      if (polls > kMaxPolls) give_up_waiting(peers, other, static_cast<unsigned>(step));
    }
  }
  __syncthreads();
}

/// Stores the epoch that ends with this launch. It is the last action of a block, after
/// wait_for_ranks or a barrier of the block.
__device__ inline void end_epoch(const RankPeers& peers, unsigned epoch) {
  if (threadIdx.x == 0) signals_of(peers, peers.rank).epoch[blockIdx.x] = epoch;
}

}  // namespace gpuexp
