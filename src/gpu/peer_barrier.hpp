// Kernels that synchronize GPUs through memory that all of the GPUs can access.
#pragma once

#include <cstdint>

#include "family/ranks.hpp"

struct CUstream_st;

namespace gpuexp {

/// Signals from all ranks, in one rank's memory; initially zero.
struct BarrierSignals {
  unsigned arrived[kMaxRanks];  ///< by rank: number of the last barrier that the rank has reached
  /// By rank and barrier number modulo 2: arrival time in nanoseconds of rank 0's clock.
  long long arrived_ns[kMaxRanks][2];
  unsigned asked;       ///< on the rank whose clock is read: number of the requested round
  unsigned answered;    ///< on the requesting rank: number of the answered round
  long long answer_ns;  ///< the other rank's globaltimer at the answer
};

/// A barrier's report, in host memory, which outlives the context.
struct BarrierReport {
  WaitReport of_barrier;  ///< `step` is the barrier's number
  WaitReport of_launch;   ///< from kernels of the problem that wait for other ranks
  long long released_ns;  ///< globaltimer when the last barrier released this rank
};

/// Signals that this rank has reached barrier `number`, waits for all ranks, and then until a
/// common time, because the latency of a link delays each signal. `ahead_ns` is the lead of this
/// GPU's globaltimer over rank 0's. If a rank does not arrive within `patience_ns`, the kernel
/// stores a report and traps; later work on the stream never runs.
void queue_peer_barrier(const Ranks<BarrierSignals>& signals, int rank, int ranks, unsigned number,
                        long long ahead_ns, long long patience_ns, BarrierReport* report,
                        CUstream_st* stream);

/// The lead of a rank's globaltimer over rank 0's globaltimer, from repeated requests. The rank is
/// assumed to read its clock midway between request and reply: the error is at most half of the
/// shortest round trip.
struct ClockOffset {
  double ahead_ns;
  double min_round_trip_ns;
};
/// Runs on rank 0 and stores the offset of rank `peer` in *d_offset. Rounds are numbered from
/// `first`; round numbers must not be reused.
void queue_clock_questions(const Ranks<BarrierSignals>& signals, int peer, unsigned first,
                           int rounds, long long patience_ns, BarrierReport* report,
                           ClockOffset* d_offset, CUstream_st* stream);
void queue_clock_answers(const Ranks<BarrierSignals>& signals, int rank, unsigned first, int rounds,
                         long long patience_ns, BarrierReport* report, CUstream_st* stream);

}  // namespace gpuexp
