// Kernels that synchronize GPUs through memory that all of them can access.
#pragma once

#include <cstdint>

#include "family/ranks.hpp"

struct CUstream_st;

namespace gpuexp {

/// Signals from the other ranks, in a rank's own memory; initially zero.
struct BarrierSignals {
  unsigned arrived[kMaxRanks];  ///< by rank: number of the last barrier it has reached
  /// By rank and by the barrier's number modulo 2: arrival time in nanoseconds of rank 0's clock.
  long long arrived_ns[kMaxRanks][2];
  unsigned asked;       ///< on a rank whose clock is read: the requested round
  unsigned answered;    ///< on the requesting rank: the answered round
  long long answer_ns;  ///< the other rank's globaltimer at the answer
};

/// A barrier's report to the host. It is in host memory, so that it outlives the context.
struct BarrierReport {
  WaitReport of_barrier;  ///< `step` is the barrier's number
  WaitReport of_launch;   ///< from kernels of the problem
  long long released_ns;  ///< globaltimer when the last barrier released this rank
};

/// Signals to all ranks that this rank has reached barrier `number`, waits for all ranks, and then
/// until the same moment on each. Otherwise the last rank to arrive would start earlier than the
/// others by the latency of the link. `ahead_ns` is the lead of this GPU's globaltimer over rank
/// 0's. If a rank does not arrive within `patience_ns`, the kernel reports it and traps; later work
/// on the stream never runs.
void queue_peer_barrier(const Ranks<BarrierSignals>& signals, int rank, int ranks, unsigned number,
                        long long ahead_ns, long long patience_ns, BarrierReport* report,
                        CUstream_st* stream);

/// The lead of a rank's globaltimer over rank 0's, from repeated requests. The answer lies between
/// request and reply; it is assumed in the middle, with an error of at most half of the shortest
/// round trip.
struct ClockOffset {
  double ahead_ns;
  double min_round_trip_ns;  ///< shortest round trip
};
/// Runs on rank 0 and stores the offset of `peer` in *d_offset. Rounds are numbered from `first`;
/// round numbers must not be reused.
void queue_clock_questions(const Ranks<BarrierSignals>& signals, int peer, unsigned first,
                           int rounds, long long patience_ns, BarrierReport* report,
                           ClockOffset* d_offset, CUstream_st* stream);
/// Runs on the rank whose clock is read.
void queue_clock_answers(const Ranks<BarrierSignals>& signals, int rank, unsigned first, int rounds,
                         long long patience_ns, BarrierReport* report, CUstream_st* stream);

}  // namespace gpuexp
