#include "gpu/cuda_check.hpp"
#include "gpu/peer_barrier.hpp"

namespace gpuexp {

namespace {

__device__ long long globaltimer_ns() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// System scope, because the other thread runs on another GPU (PTX ISA, memory consistency model).
__device__ void store_release(unsigned* to, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}
__device__ unsigned load_acquire(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Compares the difference, because numbers wrap around.
__device__ bool has_arrived(unsigned at, unsigned number) {
  return static_cast<int>(at - number) >= 0;
}

__device__ void wait_for(const unsigned* word, unsigned number, int rank, long long patience_ns,
                         BarrierReport* report) {
  const long long start_ns = globaltimer_ns();
  while (!has_arrived(load_acquire(word), number)) {
    if (globaltimer_ns() - start_ns < patience_ns) continue;
    report->of_barrier.step = number;
    report->of_barrier.missing = rank + 1;
    __threadfence_system();
    __trap();
  }
}

// Delay from the last arrival to the common start, longer than a signal takes to reach the other
// ranks.
constexpr long long kStartDelayNs = 3000;

__global__ void peer_barrier_kernel(Ranks<BarrierSignals> signals, int rank, int ranks,
                                    unsigned number, long long ahead_ns, long long patience_ns,
                                    BarrierReport* report) {
  __shared__ long long arrival_ns[kMaxRanks];
  const int other = static_cast<int>(threadIdx.x);
  const unsigned slot = number % 2;  // a rank that is one barrier ahead writes the other slot
  if (other < ranks) {
    static_cast<volatile BarrierSignals*>(signals.of[other])->arrived_ns[rank][slot] =
        globaltimer_ns() - ahead_ns;
    store_release(&signals.of[other]->arrived[rank], number);
    wait_for(&signals.of[rank]->arrived[other], number, other, patience_ns, report);
    arrival_ns[other] =
        static_cast<volatile BarrierSignals*>(signals.of[rank])->arrived_ns[other][slot];
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  long long last_ns = 0;
  for (int r = 0; r < ranks; ++r)
    last_ns = arrival_ns[r] > last_ns ? arrival_ns[r] : last_ns;
  const long long start_ns = last_ns + kStartDelayNs + ahead_ns;
  long long now_ns = globaltimer_ns();
  while (now_ns < start_ns)
    now_ns = globaltimer_ns();
  report->released_ns = now_ns;
}

__global__ void clock_questions_kernel(Ranks<BarrierSignals> signals, int peer, unsigned first,
                                       int rounds, long long patience_ns, BarrierReport* report,
                                       ClockOffset* offset) {
  BarrierSignals* const own = signals.of[0];
  long long shortest_ns = 1LL << 62;
  for (unsigned round = first; round < first + rounds; ++round) {
    const long long request_ns = globaltimer_ns();
    store_release(&signals.of[peer]->asked, round);
    wait_for(&own->answered, round, peer, patience_ns, report);
    const long long reply_ns = globaltimer_ns();
    if (reply_ns - request_ns >= shortest_ns) continue;
    shortest_ns = reply_ns - request_ns;
    const long long answer_ns = *static_cast<volatile long long*>(&own->answer_ns);
    offset->ahead_ns = static_cast<double>(answer_ns - request_ns) - 0.5 * shortest_ns;
    offset->min_round_trip_ns = static_cast<double>(shortest_ns);
  }
}

__global__ void clock_answers_kernel(Ranks<BarrierSignals> signals, int rank, unsigned first,
                                     int rounds, long long patience_ns, BarrierReport* report) {
  BarrierSignals* const asking = signals.of[0];
  for (unsigned round = first; round < first + rounds; ++round) {
    wait_for(&signals.of[rank]->asked, round, 0, patience_ns, report);
    *static_cast<volatile long long*>(&asking->answer_ns) = globaltimer_ns();
    store_release(&asking->answered, round);
  }
}

}  // namespace

void queue_peer_barrier(const Ranks<BarrierSignals>& signals, int rank, int ranks, unsigned number,
                        long long ahead_ns, long long patience_ns, BarrierReport* report,
                        CUstream_st* stream) {
  peer_barrier_kernel<<<1, kMaxRanks, 0, stream>>>(signals, rank, ranks, number, ahead_ns,
                                                   patience_ns, report);
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_clock_questions(const Ranks<BarrierSignals>& signals, int peer, unsigned first,
                           int rounds, long long patience_ns, BarrierReport* report,
                           ClockOffset* d_offset, CUstream_st* stream) {
  clock_questions_kernel<<<1, 1, 0, stream>>>(signals, peer, first, rounds, patience_ns, report,
                                              d_offset);
  GPUEXP_CUDA(cudaGetLastError());
}

void queue_clock_answers(const Ranks<BarrierSignals>& signals, int rank, unsigned first, int rounds,
                         long long patience_ns, BarrierReport* report, CUstream_st* stream) {
  clock_answers_kernel<<<1, 1, 0, stream>>>(signals, rank, first, rounds, patience_ns, report);
  GPUEXP_CUDA(cudaGetLastError());
}

}  // namespace gpuexp
