// Threads of a block that synchronize by flags in shared memory, and by mbarriers that complete
// cp.async. Each kernel is correct if `fault` is 0; otherwise the simulator must report the line
// that names the kernel and the number. The file is compiled during the test.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

__device__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

// ---- cp.async that arrives at an mbarrier

__device__ void copy_word(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
__device__ void init_mbarrier(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}
__device__ void wait_for_parity(unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\n"
      "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@!done bra WAIT;\n}" ::"r"(
          shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Fault 1: the threads wait for each other, and none for the copies. Fault 2: then only the first
// warp waits for the copies.
extern "C" __global__ void copy_noinc(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
  __shared__ unsigned long long barrier;
  const int t = threadIdx.x;
  words[t] = -1;
  if (t == 0) init_mbarrier(&barrier, kThreads);
  __syncthreads();
  copy_word(words + t, in + t);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&barrier))
               : "memory");
  if (fault != 0) __syncthreads();
  if (fault == 0 || (fault == 2 && t < 32)) wait_for_parity(&barrier, 0);
  out[t] = words[kThreads - 1 - t];  // fault: copy_noinc 1 2
}

// The arrival of the copies is not among the arrivals that the mbarrier expects. Fault 1: a thread
// arrives before it issues its copy.
extern "C" __global__ void copy_inc(const int* in, int* out, int fault) {
  __shared__ int words[2][kThreads];
  __shared__ unsigned long long barrier;
  const int t = threadIdx.x;
  if (t == 0) init_mbarrier(&barrier, kThreads);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned at = shared_address(&barrier);
    if (fault == 0) copy_word(&words[i % 2][t], in + i * kThreads + t);
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at) : "memory");
    if (fault == 1) copy_word(&words[i % 2][t], in + i * kThreads + t);
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(at)
                 : "memory");
    wait_for_parity(&barrier, i % 2);
    sum += words[i % 2][kThreads - 1 - t];  // fault: copy_inc 1
    __syncthreads();
  }
  out[t] = sum;
}

// Fault 1: one warp does not wait.
extern "C" __global__ void copy_barrier(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, kThreads);
  __syncthreads();
  cuda::memcpy_async(words + t, in + t, cuda::aligned_size_t<4>(4), barrier);
  auto token = barrier.arrive();
  if (fault == 0 || t / 32 != 2) barrier.wait(cuda::std::move(token));
  out[t] = words[kThreads - 1 - t];  // fault: copy_barrier 1
}

// All threads produce and consume two stages. Fault 1: the threads wait for each other instead of
// for the copies of a stage.
extern "C" __global__ void copy_pipeline(const int* in, int* out, int fault) {
  __shared__ int words[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const int t = threadIdx.x;
  words[0][t] = words[1][t] = -1;
  __syncthreads();
  int sum = 0;
  for (int i = 0, next = 0; i < 8; ++i) {
    for (; next < 8 && next < i + 2; ++next) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, words[next % 2], in + next * kThreads,
                         cuda::aligned_size_t<4>(sizeof words[0]), pipeline);
      pipeline.producer_commit();
    }
    if (fault == 0) pipeline.consumer_wait();
    if (fault == 1) __syncthreads();
    sum += words[i % 2][kThreads - 1 - t];  // fault: copy_pipeline 1
    pipeline.consumer_release();
  }
  out[t] = sum;
}

// ---- flags

// The first warp stores, the other warps load. Fault 1: no fence before the flag. Fault 2: the
// other warps do not wait.
extern "C" __global__ void volatile_flag(const int* in, int* out, int fault) {
  __shared__ int words[32];
  __shared__ volatile int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    words[t] = in[t];
    if (fault != 1) __threadfence_block();
    __syncwarp();
    if (t == 0) flag = 1;
    out[t] = 0;
  } else {
    if (fault != 2) {
      while (flag == 0) {
      }
    }
    __threadfence_block();
    out[t] = words[t % 32];  // fault: volatile_flag 1 2
  }
}

// The first iteration of the loop is outside of it. The flags of the warps form a chain.
extern "C" __global__ void volatile_chain(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
  __shared__ volatile int flags[kWarps];
  const int t = threadIdx.x, warp = t / 32;
  if (t < kWarps) flags[t] = 0;
  __syncthreads();
  int before = 0;
  if (warp > 0) {
    while (flags[warp - 1] == 0)
      __nanosleep(20);
    __threadfence_block();
    before = words[t - 32];  // fault: volatile_chain 1
  }
  words[t] = in[t] + before;
  if (fault == 0) __threadfence_block();
  __syncwarp();
  if (t % 32 == 0) flags[warp] = 1;
  out[t] = words[t];
}

// Fault 1: the flag is stored without release semantics.
extern "C" __global__ void atomic_flag(const int* in, int* out, int fault) {
  __shared__ int words[32];
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  const int t = threadIdx.x;
  if (t == 0) flag.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (t < 32) {
    words[t] = in[t];
    __syncwarp();
    if (t == 0) flag.store(1, fault == 1 ? cuda::memory_order_relaxed : cuda::memory_order_release);
    out[t] = 0;
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    out[t] = words[t % 32];  // fault: atomic_flag 1
  }
}

// Two warps pass 8 values through one buffer. Fault 1: the consumer signals before it has loaded.
extern "C" __global__ void flag_ring(const int* in, int* out, int fault) {
  __shared__ int words[32];
  __shared__ cuda::atomic<int, cuda::thread_scope_block> filled, emptied;
  const int t = threadIdx.x, lane = t % 32;
  if (t == 0) filled.store(0, cuda::memory_order_relaxed);
  if (t == 0) emptied.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    if (t < 32) {
      while (emptied.load(cuda::memory_order_acquire) < i) {
      }
      words[lane] = in[i * 32 + lane];  // fault: flag_ring 1
      __syncwarp();
      if (lane == 0) filled.store(i + 1, cuda::memory_order_release);
    } else if (t < 64) {
      while (filled.load(cuda::memory_order_acquire) <= i) {
      }
      if (fault == 1 && lane == 0) emptied.store(i + 1, cuda::memory_order_release);
      sum += words[31 - lane];
      __syncwarp();
      if (fault == 0 && lane == 0) emptied.store(i + 1, cuda::memory_order_release);
    }
  }
  out[t] = sum;
}

// One thread per warp adds in a critical section. Fault 1: no fence before the lock is released.
extern "C" __global__ void lock(const int* in, int* out, int fault) {
  __shared__ int mutex, sum;
  const int t = threadIdx.x;
  if (t == 0) mutex = sum = 0;
  __syncthreads();
  if (t % 32 == 0) {
    while (atomicCAS(&mutex, 0, 1) != 0) {
    }
    __threadfence_block();
    sum += in[t];  // fault: lock 1
    if (fault == 0) __threadfence_block();
    atomicExch(&mutex, 0);
  }
  __syncthreads();
  out[t] = sum;
}

// As above, but a volatile store releases the lock.
extern "C" __global__ void volatile_unlock(const int* in, int* out, int fault) {
  __shared__ int mutex, sum;
  const int t = threadIdx.x;
  if (t == 0) mutex = sum = 0;
  __syncthreads();
  if (t % 32 == 0) {
    while (atomicExch(&mutex, 1) != 0) {
    }
    __threadfence_block();
    sum += in[t];  // fault: volatile_unlock 1
    if (fault == 0) __threadfence_block();
    *const_cast<volatile int*>(&mutex) = 0;
  }
  __syncthreads();
  out[t] = sum;
}

// The last warp that has stored adds. Fault 1: no fence before the counter.
extern "C" __global__ void last_warp(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
  __shared__ unsigned count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  words[t] = in[t];
  if (fault == 0) __threadfence_block();
  __syncwarp();
  unsigned ticket = 0;
  if (t % 32 == 0) ticket = atomicAdd(&count, 1u);
  ticket = __shfl_sync(~0u, ticket, 0);
  int sum = 0;
  if (ticket == kWarps - 1) {
    __threadfence_block();
    for (int i = t % 32; i < kThreads; i += 32)
      sum += words[i];  // fault: last_warp 1
  }
  out[t] = ticket == kWarps - 1 ? sum : -1;
}

// As above with cuda::atomic_ref, which has the fence in its memory order.
extern "C" __global__ void last_warp_acq_rel(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
  __shared__ unsigned count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  words[t] = in[t];
  __syncwarp();
  unsigned ticket = 0;
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> counter(count);
  if (t % 32 == 0 && fault == 0) ticket = counter.fetch_add(1, cuda::memory_order_acq_rel);
  if (t % 32 == 0 && fault == 1) ticket = counter.fetch_add(1, cuda::memory_order_acquire);
  ticket = __shfl_sync(~0u, ticket, 0);
  int sum = 0;
  if (ticket == kWarps - 1) {
    for (int i = t % 32; i < kThreads; i += 32)
      sum += words[i];  // fault: last_warp_acq_rel 1
  }
  out[t] = ticket == kWarps - 1 ? sum : -1;
}

// A flag that is read by adding 0. Fault 1: atomics without a fence.
extern "C" __global__ void polling_addition(const int* in, int* out, int fault) {
  __shared__ int word;
  __shared__ int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t == 0) {
    word = in[0];
    if (fault == 0) __threadfence_block();
    atomicAdd(&flag, 1);
  }
  int value = 0;
  if (t == 64) {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
    value = word;  // fault: polling_addition 1
  }
  out[t] = value;
}

// A loop over shared memory is no wait, although a kernel with flags also has it. Fault 1: no
// barrier between the stores and the loop.
extern "C" __global__ void plain_loop(const int* in, int* out, int fault) {
  __shared__ int words[kThreads];
  __shared__ volatile int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  words[t] = 0;
  __syncthreads();
  words[t] = in[t] & 1;  // fault: plain_loop 1
  __threadfence_block();
  if (fault == 0) __syncthreads();
  int ones = 0;
  for (int i = t % 32; i < kThreads && words[i] < 2; ++i)
    ones += words[i];
  if (t == 0) flag = 1;
  while (flag == 0) {
  }
  out[t] = ones;
}
