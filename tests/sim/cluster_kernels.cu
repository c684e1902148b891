#include "sim/cluster_device.cuh"
#include "sim/cluster_kernels.hpp"

namespace gpuexp::test {

namespace clustered {

__global__ void places_kernel(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned* const to = out + block * kPlaceWords;
  unsigned word = 0;
  const auto put = [&](unsigned value) {
    if (threadIdx.x == 0) to[word++] = value;
  };
  unsigned value;
#define GPUEXP_PUT(name)                                 \
  asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); \
  put(value)
  GPUEXP_PUT("clusterid.x");
  GPUEXP_PUT("clusterid.y");
  GPUEXP_PUT("clusterid.z");
  GPUEXP_PUT("nclusterid.x");
  GPUEXP_PUT("nclusterid.y");
  GPUEXP_PUT("cluster_ctaid.x");
  GPUEXP_PUT("cluster_ctaid.y");
  GPUEXP_PUT("cluster_nctaid.x");
  GPUEXP_PUT("cluster_nctaid.y");
  GPUEXP_PUT("cluster_ctarank");
  GPUEXP_PUT("cluster_nctarank");
#undef GPUEXP_PUT
  asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
               : "=r"(value));
  put(value);
}

__global__ void loads_kernel(const unsigned* in, unsigned* out) {
  __shared__ uint4 words[96];
  const unsigned t = threadIdx.x;
  const unsigned seed = in[thread_in_grid() % kClusterInput];
  words[t] = make_uint4(seed, seed * 3, seed * 5, seed * 7);
  cluster_sync();
  const unsigned at = mapped(shared_address(words + (95 - t)), next_rank());
  unsigned byte, word, x, y, z, w;
  unsigned long long pair;
  asm volatile("ld.shared::cluster.u8 %0, [%1+5];" : "=r"(byte) : "r"(at));
  asm volatile("ld.shared::cluster.u32 %0, [%1+8];" : "=r"(word) : "r"(at));
  asm volatile("ld.shared::cluster.u64 %0, [%1+8];" : "=l"(pair) : "r"(at));
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
               : "r"(at));
  const uint4 generic = mapped(words, next_rank())[t];
  cluster_sync();
  unsigned* const to = out + 5 * thread_in_grid();
  to[0] = byte;
  to[1] = word;
  to[2] = static_cast<unsigned>(pair >> 32);
  to[3] = x ^ (y << 1) ^ (z << 2) ^ (w << 3);
  to[4] = generic.y;
}

__global__ void stores_kernel(const unsigned* in, unsigned* out) {
  __shared__ uint4 vectors[96];
  __shared__ unsigned words[96];
  __shared__ unsigned char bytes[96];
  const unsigned t = threadIdx.x;
  const unsigned seed = in[thread_in_grid() % kClusterInput];
  const unsigned next = next_rank();
  cluster_sync();  // all blocks have begun
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %1, %2};" ::"r"(
                   mapped(shared_address(vectors + t), next)),
               "r"(seed), "r"(~seed)
               : "memory");
  asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(mapped(shared_address(bytes + t), next)),
               "r"(seed)
               : "memory");
  mapped(words, next)[95 - t] = seed + 1;
  cluster_sync();
  unsigned* const to = out + 3 * thread_in_grid();
  to[0] = vectors[95 - t].y;
  to[1] = words[t];
  to[2] = bytes[t];
}

__global__ void atomics_kernel(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned words[16];
  const unsigned t = threadIdx.x;
  if (t < 16) words[t] = 0;
  cluster_sync();
  const unsigned seed = in[thread_in_grid() % kClusterInput];
  unsigned* const first = mapped(words, 0);
  const unsigned at = mapped(shared_address(words), 0);
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(at), "r"(seed) : "memory");
  asm volatile("red.shared::cluster.xor.b32 [%0+4], %1;" ::"r"(at), "r"(seed) : "memory");
  asm volatile("red.shared::cluster.max.u32 [%0+8], %1;" ::"r"(at), "r"(seed) : "memory");
  atomicAdd(reinterpret_cast<float*>(first + 3), static_cast<float>(seed % 16));
  atomicAdd(reinterpret_cast<unsigned long long*>(first + 4), 0x100000001ull * (seed % 8));
  atomicInc(first + 6, 100);
  unsigned old = 0;
  for (;;) {  // sum by comparing and swapping
    const unsigned seen = atomicCAS(first + 7, old, old + t);
    if (seen == old) break;
    old = seen;
  }
  atomicAdd(reinterpret_cast<double*>(first + 8), static_cast<double>(seed % 4));
  unsigned long long* const pair = reinterpret_cast<unsigned long long*>(first + 10);
  unsigned long long before = 0;
  for (;;) {
    const unsigned long long seen = atomicCAS(pair, before, before + seed);
    if (seen == before) break;
    before = seen;
  }
  atomicOr(first + 12, 1u << (seed % 32));
  cluster_sync();
  if (t < 16) out[16 * blockIdx.x + t] = words[t];
}

__global__ void spaces_kernel(const unsigned* in, unsigned* out) {
  __shared__ unsigned word;
  word = 5;
  cluster_sync();
  const unsigned rank = (cluster_rank() + threadIdx.x) % cluster_size();
  const unsigned* const there = mapped(&word, rank);
  unsigned is_own, is_shared, is_global, of, of_generic, is_of_input;
#define GPUEXP_ASK(space, of, to)                                                  \
  asm volatile("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" \
               : "=r"(to)                                                          \
               : "l"(of))
  GPUEXP_ASK("shared::cta", there, is_own);
  GPUEXP_ASK("shared::cluster", there, is_shared);
  GPUEXP_ASK("shared::cluster", in, is_of_input);
  GPUEXP_ASK("shared::cta", in, is_global);
#undef GPUEXP_ASK
  asm volatile("getctarank.shared::cluster.u32 %0, %1;"
               : "=r"(of)
               : "r"(mapped(shared_address(&word), rank)));
  asm volatile("getctarank.u64 %0, %1;" : "=r"(of_generic) : "l"(there));
  out[thread_in_grid()] = is_own | is_shared << 1 | is_of_input << 2 | is_global << 3 | of << 8 |
                          of_generic << 16 | *there << 24;
  cluster_sync();
}

__global__ void phases_kernel(const unsigned* in, unsigned* out) {
  __shared__ unsigned token[2];
  const unsigned t = threadIdx.x;
  if (t == 0) token[0] = in[blockIdx.x];
  unsigned work = t;
  for (unsigned phase = 0; phase < 7; ++phase) {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    work = work * 5 + phase;  // work between arrive and wait
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    if (t == 0) mapped(token, next_rank())[(phase + 1) % 2] = token[phase % 2] * 3 + 1;
  }
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  out[thread_in_grid()] = token[1] + work;
}

__global__ void async_stores_kernel(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned words[96][8];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 8; ++i)
    words[t][i] = 100 + i;
  constexpr unsigned kBytes = 4 + 8 + 16 + 4;
  if (t == 0) {
    init_barrier(&barrier, 1);
    expect_bytes(&barrier, 96 * kBytes);
  }
  cluster_sync();
  const unsigned seed = in[thread_in_grid() % kClusterInput];
  const unsigned at = mapped(shared_address(words[95 - t]), next_rank());
  const unsigned remote = mapped(shared_address(&barrier), next_rank());
#define GPUEXP_ASYNC(what) what ".mbarrier::complete_tx::bytes"
  asm volatile(GPUEXP_ASYNC("st.async.shared::cluster") ".u32 [%0+28], %1, [%2];" ::"r"(at),
               "r"(seed), "r"(remote)
               : "memory");
  asm volatile(GPUEXP_ASYNC("st.async.shared::cluster") ".u64 [%0+16], %1, [%2];" ::"r"(at),
               "l"(0x100000000ull * t + seed), "r"(remote)
               : "memory");
  asm volatile(
      GPUEXP_ASYNC("st.async.shared::cluster") ".v4.u32 [%0], {%1, %2, %1, %2}, [%3];" ::"r"(at),
      "r"(seed), "r"(t), "r"(remote)
      : "memory");
  asm volatile(
      GPUEXP_ASYNC("red.async.relaxed.cluster.shared::cluster") ".add.u32 [%0+24], %1, [%2];" ::"r"(
          at),
      "r"(seed), "r"(remote)
      : "memory");
#undef GPUEXP_ASYNC
  wait_for(&barrier, 0);
  unsigned sum = 0;
  for (unsigned i = 0; i < 8; ++i)
    sum = sum * 31 + words[t][i];
  out[thread_in_grid()] = sum;
  cluster_sync();
}

__global__ void arrivals_kernel(const unsigned* in, unsigned* out) {
  __shared__ unsigned words[8];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  const unsigned blocks = cluster_size();
  // Per block, thread 0 arrives once, thread 1 three times in one instruction, thread 2 with bytes.
  if (t == 0) init_barrier(&barrier, 5 * blocks);
  if (t < 8) words[t] = 0;
  cluster_sync();
  const unsigned remote = mapped(shared_address(&barrier), 0);
  const unsigned value = in[blockIdx.x] + t;
  for (unsigned phase = 0; phase < 3; ++phase) {
    if (t == 3) mapped(words, 0)[cluster_rank()] = value + phase;
    __syncthreads();
    if (t == 0)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote)
                   : "memory");
    if (t == 1)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 3;" ::"r"(remote)
                   : "memory");
    if (t == 2) {
      asm volatile(
          "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 16;" ::"r"(remote)
          : "memory");
      asm volatile(
          "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(remote)
          : "memory");
    }
    if (cluster_rank() == 0) {
      wait_for(&barrier, phase % 2);
      if (t < blocks) out[(blockIdx.x / blocks * 3 + phase) * blocks + t] = words[t];
    }
    cluster_sync();
  }
}

__global__ void remote_bulk_kernel(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned from[96];
  __shared__ alignas(16) unsigned to[96];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  from[t] = in[thread_in_grid() % kClusterInput];
  if (t == 0) {
    init_barrier(&barrier, 1);
    expect_bytes(&barrier, 96 * 4 - 48);
  }
  to[t] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  if (t == 0) {
    const unsigned next = next_rank();
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(mapped(shared_address(to + 8), next)),
        "r"(shared_address(from + 12)), "r"(96 * 4 - 48),
        "r"(mapped(shared_address(&barrier), next))
        : "memory");
  }
  wait_for(&barrier, 0);
  out[thread_in_grid()] = to[t];
  cluster_sync();
}

__global__ void multicast_kernel(const unsigned* in, unsigned* out, unsigned short blocks) {
  __shared__ alignas(16) unsigned to[64];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  const bool gets = blocks >> cluster_rank() & 1;
  if (t == 0) {
    init_barrier(&barrier, 1);
    if (gets) expect_bytes(&barrier, 64 * 4);
  }
  to[t] = 7;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  if (t == 0 && cluster_rank() == 1)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(in + 64 * (blockIdx.x / cluster_size())), "r"(64 * 4), "r"(shared_address(&barrier)),
        "h"(blocks)
        : "memory");
  if (gets) wait_for(&barrier, 0);
  out[thread_in_grid()] = to[t];
  cluster_sync();
}

#define GPUEXP_REDUCE(place, operation)                                        \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation \
               " [%0], [%1], 64;" ::"l"(out + 16 * (place)),                   \
               "r"(shared_address(with))                                       \
               : "memory")
#define GPUEXP_REDUCE_REMOTE(place, operation)                                                   \
  asm volatile(                                                                                  \
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." operation \
      " [%0], [%1], 64, [%2];" ::"r"(mapped(shared_address(words[place]), next)),                \
      "r"(shared_address(with)), "r"(mapped(shared_address(&barrier), next))                     \
      : "memory")

__global__ void reductions_kernel(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned with[16];
  __shared__ alignas(16) unsigned words[6][16];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  const unsigned next = next_rank();
  if (t < 16) {
    with[t] = in[blockIdx.x * 16 + t];
    for (unsigned i = 0; i < 6; ++i)
      words[i][t] = in[(5 + i) * 16 + t];
    if (blockIdx.x == 0)
      for (unsigned i = 0; i < 20; ++i)
        out[16 * i + t] = in[(3 + i % 13) * 16 + t];
  }
  if (t == 0) {
    init_barrier(&barrier, 1);
    expect_bytes(&barrier, 6 * 64);
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  cluster_sync();
  if (t == 0) {
    asm volatile("fence.proxy.async;" ::: "memory");
    GPUEXP_REDUCE(0, "add.u32");
    GPUEXP_REDUCE(1, "add.s32");
    GPUEXP_REDUCE(2, "add.u64");
    GPUEXP_REDUCE(3, "and.b32");
    GPUEXP_REDUCE(4, "or.b64");
    GPUEXP_REDUCE(5, "xor.b32");
    GPUEXP_REDUCE(6, "min.u32");
    GPUEXP_REDUCE(7, "max.s32");
    GPUEXP_REDUCE(8, "min.s64");
    GPUEXP_REDUCE(9, "max.u64");
    GPUEXP_REDUCE(10, "min.f16");
    GPUEXP_REDUCE(11, "max.bf16");
    // Only one block: the result of two would depend on their order.
    if (blockIdx.x == 0) {
      GPUEXP_REDUCE(12, "inc.u32");
      GPUEXP_REDUCE(13, "dec.u32");
      GPUEXP_REDUCE(14, "add.f32");
      GPUEXP_REDUCE(15, "add.f64");
      GPUEXP_REDUCE(16, "add.noftz.f16");
      GPUEXP_REDUCE(17, "add.noftz.bf16");
    }
    GPUEXP_REDUCE_REMOTE(0, "add.u32");
    GPUEXP_REDUCE_REMOTE(1, "inc.u32");
    GPUEXP_REDUCE_REMOTE(2, "min.s32");
    GPUEXP_REDUCE_REMOTE(3, "xor.b32");
    GPUEXP_REDUCE_REMOTE(4, "dec.u32");
    GPUEXP_REDUCE_REMOTE(5, "max.u32");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 64;" ::"l"(in));
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  wait_for(&barrier, 0);
  if (t < 16) {
    for (unsigned i = 0; i < 6; ++i)
      out[20 * 16 + (blockIdx.x * 6 + i) * 16 + t] = words[i][t];
  }
  cluster_sync();
}

__global__ void __cluster_dims__(2, 1, 1) fixed_clusters_kernel(unsigned* out) {
  cluster_sync();
  out[thread_in_grid()] = cluster_rank();
}

}  // namespace clustered

using namespace clustered;

Steps cluster_places(const unsigned*, unsigned* out) {
  Shape shape;
  shape.grid = {4, 6, 2};
  shape.block.x = 32;
  shape.cluster = {2, 3, 1};
  return launch(places_kernel, shape, out);
}
Steps remote_loads(const unsigned* in, unsigned* out) {
  return clusters_of(loads_kernel, 3, 96, 2, in, out);
}
Steps remote_stores(const unsigned* in, unsigned* out) {
  return clusters_of(stores_kernel, 3, 96, 2, in, out);
}
Steps remote_atomics(const unsigned* in, unsigned* out) {
  return clusters_of(atomics_kernel, 4, 64, 3, in, out);
}
Steps address_spaces(const unsigned* in, unsigned* out) {
  return clusters_of(spaces_kernel, 3, 32, 1, in, out);
}
Steps barrier_phases(const unsigned* in, unsigned* out) {
  return clusters_of(phases_kernel, 5, 33, 2, in, out);
}
Steps async_stores(const unsigned* in, unsigned* out) {
  return clusters_of(async_stores_kernel, 3, 96, 2, in, out);
}
Steps remote_arrivals(const unsigned* in, unsigned* out) {
  return clusters_of(arrivals_kernel, 3, 32, 2, in, out);
}
Steps remote_bulk_copies(const unsigned* in, unsigned* out) {
  return clusters_of(remote_bulk_kernel, 3, 96, 2, in, out);
}
Steps bulk_multicast(const unsigned* in, unsigned* out) {
  constexpr unsigned short kFirstAndLast = 0b101;
  return clusters_of(multicast_kernel, 3, 64, 2, in, out, kFirstAndLast);
}
Steps fixed_clusters(unsigned* out) {
  return clusters_of(fixed_clusters_kernel, 2, 32, 1, out);
}
Steps bulk_reductions(const unsigned* in, unsigned* out) {
  return clusters_of(reductions_kernel, 2, 32, 1, in, out);
}

}  // namespace gpuexp::test
