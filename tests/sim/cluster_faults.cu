#include "sim/cluster_device.cuh"
#include "sim/cluster_kernels.hpp"

namespace gpuexp::test {

namespace clustered {

template <bool is_faulty>
__global__ void remote_overrun_kernel(unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x;
  cluster_sync();
  const unsigned at = is_faulty && threadIdx.x == 33 ? 70000 : threadIdx.x;
  out[thread_in_grid()] = mapped(words, next_rank())[at];  // fault: remote_overrun
  cluster_sync();
}

template <bool is_faulty>
__global__ void no_such_block_kernel(unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x;
  cluster_sync();
  const unsigned rank = is_faulty ? 2 : 1;
  out[thread_in_grid()] = mapped(words, rank)[threadIdx.x];  // fault: no_such_block
  cluster_sync();
}

template <bool is_faulty>
__global__ void remote_unwritten_kernel(unsigned* out) {
  __shared__ unsigned words[64];
  if (!is_faulty || threadIdx.x < 32) mapped(words, cluster_rank())[threadIdx.x] = threadIdx.x;
  cluster_sync();
  const unsigned word = mapped(words, next_rank())[threadIdx.x];  // fault: remote_unwritten
  out[thread_in_grid()] = word + 1;
  cluster_sync();
}

template <bool is_faulty>
__global__ void exits_early_kernel(unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x;
  cluster_sync();
  unsigned value = 0;
  if (cluster_rank() == 1) value = mapped(words, 0)[threadIdx.x];  // fault: exits_early
  out[thread_in_grid()] = value;
  if (!is_faulty) cluster_sync();
}

template <bool is_faulty>
__global__ void exits_unasked_kernel(unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x;
  cluster_sync();
  unsigned value = 0;
  if (cluster_rank() == 0) value = mapped(words, 1)[threadIdx.x];  // fault: exits_unasked
  out[thread_in_grid()] = value;
  if (!is_faulty) cluster_sync();
}

template <bool is_faulty>
__global__ void cluster_barrier_missed_kernel(unsigned* out) {
  out[thread_in_grid()] = threadIdx.x;
  if (is_faulty && cluster_rank() == 1 && threadIdx.x < 32)
    asm volatile("barrier.sync 3, 64;" ::: "memory");  // fault: cluster_barrier_missed
  cluster_sync();
}

template <bool is_faulty>
__global__ void cluster_barrier_twice_kernel(unsigned* out) {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  if (is_faulty)
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");  // fault: cluster_barrier_twice
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  out[thread_in_grid()] = threadIdx.x;
}

template <bool is_faulty>
__global__ void remote_wait_kernel(unsigned* out) {
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  cluster_sync();
  unsigned is_over;
  const unsigned at = mapped(shared_address(&barrier), is_faulty ? next_rank() : cluster_rank());
#define GPUEXP_TEST "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 1;"
#define GPUEXP_ASK "{ .reg .pred p; " GPUEXP_TEST " selp.b32 %0, 1, 0, p; }"
  asm volatile(GPUEXP_ASK : "=r"(is_over) : "r"(at) : "memory");  // fault: remote_wait
#undef GPUEXP_ASK
#undef GPUEXP_TEST
  out[thread_in_grid()] = is_over;
  cluster_sync();
}

}  // namespace clustered

using namespace clustered;

#define GPUEXP_FAULT(name)                                                                     \
  Steps name(bool is_faulty, unsigned* out) {                                                  \
    return clusters_of(is_faulty ? name##_kernel<true> : name##_kernel<false>, 2, 64, 1, out); \
  }
GPUEXP_FAULT(remote_overrun)
GPUEXP_FAULT(no_such_block)
GPUEXP_FAULT(remote_unwritten)
GPUEXP_FAULT(exits_early)
GPUEXP_FAULT(exits_unasked)
GPUEXP_FAULT(cluster_barrier_missed)
GPUEXP_FAULT(cluster_barrier_twice)
GPUEXP_FAULT(remote_wait)

}  // namespace gpuexp::test
