// Kernels by which GPUs wait for each other, over memory that all of them reach.
#pragma once

#include <cstdint>

#include "family/ranks.hpp"

struct CUstream_st;

namespace gpuexp {

/// What the others tell a rank, in its memory; zero at first.
struct BarrierSignals {
  unsigned arrived[kMaxRanks];  ///< by rank: the number of the last barrier that it has come to
  /// By rank, and by the barrier's number modulo 2: when it came, in nanoseconds of rank 0's clock.
  long long arrived_ns[kMaxRanks][2];
  unsigned asked;       ///< of a rank whose clock is read: the round
  unsigned answered;    ///< of the rank that asks: the round that has an answer
  long long answer_ns;  ///< the other's globaltimer then
};

/// What a barrier tells the host. In host memory, so that it outlives the context.
struct BarrierReport {
  WaitReport of_barrier;  ///< its step is the barrier's number
  WaitReport of_launch;   ///< of kernels of the problem
  long long released_ns;  ///< globaltimer when the last barrier let go
};

/// Tells all ranks that this one has come to the barrier with this number, and waits until all
/// have, and then until the same moment on each: the last to come sees the others at once, and
/// would otherwise begin earlier by the way over the link. `ahead_ns` is how far this GPU's
/// globaltimer is ahead of rank 0's. After `patience_ns` without one of them it writes which and
/// traps: what is behind it in the stream never runs.
void queue_peer_barrier(const Ranks<BarrierSignals>& signals, int rank, int ranks, unsigned number,
                        long long ahead_ns, long long patience_ns, BarrierReport* report,
                        CUstream_st* stream);

/// How far one rank's globaltimer is ahead of rank 0's, found by asking over and over: the answer
/// lies between question and return, in the middle but for half of the shortest way.
struct ClockOffset {
  double ahead_ns;
  double shortest_way_ns;  ///< there and back
};
/// On rank 0: leaves what `peer` answered in *d_offset. Rounds are numbered from `first` on, which
/// no round had before.
void queue_clock_questions(const Ranks<BarrierSignals>& signals, int peer, unsigned first,
                           int rounds, long long patience_ns, BarrierReport* report,
                           ClockOffset* d_offset, CUstream_st* stream);
/// On the rank that is asked.
void queue_clock_answers(const Ranks<BarrierSignals>& signals, int rank, unsigned first, int rounds,
                         long long patience_ns, BarrierReport* report, CUstream_st* stream);

}  // namespace gpuexp
