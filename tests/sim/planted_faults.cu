#include "kernels/common/cp_async.cuh"
#include "kernels/common/launch.cuh"
#include "sim/planted_faults.hpp"

namespace gpuexp::test {

namespace planted {

constexpr int kThreads = kPlantedThreads;
constexpr int kHalfWarp = 16;

template <bool is_faulty>
__global__ void race_between_warps_kernel(int* out) {
  __shared__ int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  words[t] = t;
  if (!is_faulty) __syncthreads();
  out[t] = words[t % (kThreads / 2)];  // fault: race_between_warps
}

template <bool is_faulty>
__global__ void race_with_readers_kernel(int* out) {
  __shared__ int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  words[t] = t;
  __syncthreads();
  int sum = t < kThreads / 2 ? words[t + kThreads / 2] : 0;
  if (!is_faulty) __syncthreads();
  if (t >= kThreads / 2) words[t] = 2 * t;  // fault: race_with_readers
  __syncthreads();
  sum += words[kThreads - 1 - t];
  out[t] = sum;
}

template <bool is_faulty>
__global__ void race_in_warp_kernel(int* out) {
  __shared__ volatile int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  words[t] = 0;
  __syncwarp();
  int sum = 0;
  // The loops keep the compiler from executing both sides without divergence.
  if (t % 32 < kHalfWarp) {
#pragma unroll 1
    for (int i = 0; i < t; ++i)
      words[t] = i;  // fault: race_in_warp
  } else if (is_faulty) {
#pragma unroll 1
    for (int i = 0; i < t; ++i)
      sum += words[t - kHalfWarp];
  }
  __syncwarp();
  if (!is_faulty && t % 32 >= kHalfWarp) sum = words[t - kHalfWarp];
  out[t] = sum;
}

template <bool is_faulty>
__global__ void race_in_instruction_kernel(int* out) {
  __shared__ volatile int words[2];
  const int t = static_cast<int>(threadIdx.x);
  words[t / 32] = is_faulty ? t : t / 32;  // fault: race_in_instruction
  __syncthreads();
  out[t] = words[t / 32];
}

template <bool is_faulty>
__global__ void unwritten_shared_kernel(int* out) {
  __shared__ volatile int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  if (!is_faulty || t < kThreads / 2) words[t] = t;
  __syncthreads();
  const int other = words[kThreads - 1 - t];  // fault: unwritten_shared
  out[t] = other + 1;
}

template <bool is_faulty>
__global__ void copy_not_waited_for_kernel(const int* in, int* out) {
  __shared__ int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  cp_async<sizeof(int)>(words + t, in + t, true);
  cp_async_commit();
  if (!is_faulty) cp_async_wait<0>();
  __syncthreads();
  out[t] = words[kThreads - 1 - t];  // fault: copy_not_waited_for
}

template <bool is_faulty>
__global__ void copy_of_another_kernel(const int* in, int* out) {
  __shared__ int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  cp_async<sizeof(int)>(words + t, in + t, true);
  cp_async_commit();
  cp_async_wait<0>();
  if (!is_faulty) __syncthreads();
  out[t] = words[t % (kThreads / 2)];  // fault: copy_of_another
}

template <bool is_faulty>
__global__ void copy_one_group_early_kernel(const int* in, int* out) {
  __shared__ int words[3][kThreads];
  const int t = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    cp_async<sizeof(int)>(words[i] + t, in + t, true);
    cp_async_commit();
  }
  cp_async_wait<is_faulty ? 2 : 1>();
  __syncthreads();
  out[t] = words[1][kThreads - 1 - t];  // fault: copy_one_group_early
}

template <bool is_faulty>
__global__ void barrier_in_branch_kernel(int* out) {
  __shared__ volatile int words[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  words[t] = t;
  if (!is_faulty || t % 32 < kHalfWarp) {
    __syncthreads();  // fault: barrier_in_branch
  }
  __syncwarp();
  out[t] = words[t];
}

template <bool is_faulty>
__global__ void named_barrier_missed_kernel(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int barrier = 1 + t / kThreads;  // barrier number in a register
  if (!is_faulty || t < kThreads / 2) {
    asm volatile("barrier.sync %0, 64;" ::"r"(barrier));  // fault: named_barrier_missed
  }
  out[t] = t;
}

template <int barrier>
__device__ void sync_at() {
  asm volatile("barrier.sync %0, %1;" ::"n"(barrier), "n"(kThreads) : "memory");
}
template <int barrier>
__device__ void arrive_at() {
  asm volatile("barrier.arrive %0, %1;" ::"n"(barrier), "n"(kThreads) : "memory");
}

// The first warp produces into one buffer, the second one consumes.
template <bool is_faulty>
__global__ void named_barrier_ring_kernel(int* out) {
  constexpr int kHasData = 1, kHasSpace = 2, kRounds = 4;
  __shared__ volatile int words[kThreads / 2];
  const int t = static_cast<int>(threadIdx.x);
  const int lane = t % 32;
  int sum = 0;
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    if (t < kThreads / 2) {
      if (round > 0) sync_at<kHasSpace>();
      words[lane] = round;  // fault: named_barrier_ring
      arrive_at<kHasData>();
    } else {
      sync_at<kHasData>();
      const bool has_next = round + 1 < kRounds;
      if (is_faulty && has_next) arrive_at<kHasSpace>();
      sum += words[31 - lane];
      if (!is_faulty && has_next) arrive_at<kHasSpace>();
    }
  }
  out[t] = sum;
}

template <bool is_faulty>
__global__ void unwritten_local_kernel(int* out) {
  constexpr int kWords = 8;
  volatile int words[kWords];
  const int t = static_cast<int>(threadIdx.x);
  words[t % kWords] = t;
  const int other = words[(t + is_faulty) % kWords];  // fault: unwritten_local
  out[t] = other + 1;
}

template <bool is_faulty>
__global__ void endless_loop_kernel(int* out) {
  volatile int* const word = out + threadIdx.x;
  *word = 0;
  while (*word < 100) {  // fault: endless_loop
    if (!is_faulty) *word = *word + 1;
  }
}

template <class... Parameters, class... Arguments>
Steps one_block(void (*kernel)(Parameters...), Arguments... arguments) {
  Shape shape;
  shape.block.x = kThreads;
  return launch(kernel, shape, arguments...);
}

}  // namespace planted

using namespace planted;

Steps race_between_warps(bool is_faulty, int* out) {
  return one_block(is_faulty ? race_between_warps_kernel<true> : race_between_warps_kernel<false>,
                   out);
}

Steps race_with_readers(bool is_faulty, int* out) {
  return one_block(is_faulty ? race_with_readers_kernel<true> : race_with_readers_kernel<false>,
                   out);
}

Steps race_in_warp(bool is_faulty, int* out) {
  return one_block(is_faulty ? race_in_warp_kernel<true> : race_in_warp_kernel<false>, out);
}

Steps race_in_instruction(bool is_faulty, int* out) {
  return one_block(is_faulty ? race_in_instruction_kernel<true> : race_in_instruction_kernel<false>,
                   out);
}

Steps unwritten_shared(bool is_faulty, int* out) {
  return one_block(is_faulty ? unwritten_shared_kernel<true> : unwritten_shared_kernel<false>, out);
}

Steps copy_not_waited_for(bool is_faulty, const int* in, int* out) {
  return one_block(is_faulty ? copy_not_waited_for_kernel<true> : copy_not_waited_for_kernel<false>,
                   in, out);
}

Steps copy_of_another(bool is_faulty, const int* in, int* out) {
  return one_block(is_faulty ? copy_of_another_kernel<true> : copy_of_another_kernel<false>, in,
                   out);
}

Steps copy_one_group_early(bool is_faulty, const int* in, int* out) {
  return one_block(
      is_faulty ? copy_one_group_early_kernel<true> : copy_one_group_early_kernel<false>, in, out);
}

Steps barrier_in_branch(bool is_faulty, int* out) {
  return one_block(is_faulty ? barrier_in_branch_kernel<true> : barrier_in_branch_kernel<false>,
                   out);
}

Steps named_barrier_missed(bool is_faulty, int* out) {
  return one_block(
      is_faulty ? named_barrier_missed_kernel<true> : named_barrier_missed_kernel<false>, out);
}

Steps named_barrier_ring(bool is_faulty, int* out) {
  return one_block(is_faulty ? named_barrier_ring_kernel<true> : named_barrier_ring_kernel<false>,
                   out);
}

Steps unwritten_local(bool is_faulty, int* out) {
  return one_block(is_faulty ? unwritten_local_kernel<true> : unwritten_local_kernel<false>, out);
}

Steps endless_loop(bool is_faulty, int* out) {
  return one_block(is_faulty ? endless_loop_kernel<true> : endless_loop_kernel<false>, out);
}

}  // namespace gpuexp::test
