#include "sim/tensor_kernels.hpp"

#include <cuda.h>

#include "kernels/common/launch.cuh"

namespace gpuexp::test {

namespace tensors {

constexpr int kMaxBytes = 16 * 1024;
constexpr int kThreads = 64;

struct Place {
  int at[5];
};

__device__ unsigned box_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

#define GPUEXP_LOAD(dimensions, coordinates, to, barrier)                             \
  "cp.async.bulk.tensor." dimensions                                                  \
  ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [" to "], [%0, {" coordinates \
  "}], [" barrier "]"
#define GPUEXP_STORE(dimensions, coordinates, from) \
  "cp.async.bulk.tensor." dimensions ".global.shared::cta.tile.bulk_group [%0, {" coordinates "}], [" from "];"

template <int rank>
__device__ void load(const CUtensorMap& map, const Place& p, unsigned to, unsigned barrier) {
  const auto* const m = &map;
  if constexpr (rank == 1) {
    asm volatile(GPUEXP_LOAD("1d", "%1", "%2", "%3") ";" ::"l"(m), "r"(p.at[0]), "r"(to),
                 "r"(barrier)
                 : "memory");
  } else if constexpr (rank == 2) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(m),
                 "r"(p.at[0]), "r"(p.at[1])
                 : "memory");
    asm volatile(GPUEXP_LOAD("2d", "%1, %2", "%3", "%4") ";" ::"l"(m), "r"(p.at[0]), "r"(p.at[1]),
                 "r"(to), "r"(barrier)
                 : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(GPUEXP_LOAD("3d", "%1, %2, %3", "%4", "%5") ";" ::"l"(m), "r"(p.at[0]),
                 "r"(p.at[1]), "r"(p.at[2]), "r"(to), "r"(barrier)
                 : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(GPUEXP_LOAD("4d", "%1, %2, %3, %4", "%5", "%6") ";" ::"l"(m), "r"(p.at[0]),
                 "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(to), "r"(barrier)
                 : "memory");
  } else {
    asm volatile(GPUEXP_LOAD("5d", "%1, %2, %3, %4, %5", "%6", "%7") ";" ::"l"(m), "r"(p.at[0]),
                 "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4]), "r"(to), "r"(barrier)
                 : "memory");
  }
}

template <int rank>
__device__ void store(const CUtensorMap& map, const Place& p, unsigned from) {
  const auto* const m = &map;
  if constexpr (rank == 1) {
    asm volatile(GPUEXP_STORE("1d", "%1", "%2") ::"l"(m), "r"(p.at[0]), "r"(from) : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(GPUEXP_STORE("2d", "%1, %2", "%3") ::"l"(m), "r"(p.at[0]), "r"(p.at[1]), "r"(from)
                 : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(GPUEXP_STORE("3d", "%1, %2, %3", "%4") ::"l"(m), "r"(p.at[0]), "r"(p.at[1]),
                 "r"(p.at[2]), "r"(from)
                 : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(GPUEXP_STORE("4d", "%1, %2, %3, %4", "%5") ::"l"(m), "r"(p.at[0]), "r"(p.at[1]),
                 "r"(p.at[2]), "r"(p.at[3]), "r"(from)
                 : "memory");
  } else {
    asm volatile(GPUEXP_STORE("5d", "%1, %2, %3, %4, %5", "%6") ::"l"(m), "r"(p.at[0]),
                 "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4]), "r"(from)
                 : "memory");
  }
}

__device__ void init_for(const void* barrier, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(box_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(box_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void wait_for_box(const void* barrier) {
  unsigned is_over = 0;
  while (is_over == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; "
        "selp.b32 %0, 1, 0, p; }"
        : "=r"(is_over)
        : "r"(box_address(barrier))
        : "memory");
  }
}

__device__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ void wait_for_stores() {
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int rank>
__global__ void load_kernel(unsigned* out, const __grid_constant__ CUtensorMap map, Place place,
                            int bytes) {
  __shared__ alignas(1024) unsigned box[kMaxBytes / 4];
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    init_for(&barrier, bytes);
    load<rank>(map, place, box_address(box), box_address(&barrier));
  }
  __syncthreads();
  wait_for_box(&barrier);
  for (int i = threadIdx.x; i < bytes / 4; i += kThreads)
    out[i] = box[i];
}

__global__ void multicast_box_kernel(unsigned* out, const __grid_constant__ CUtensorMap map,
                                     Place place, int bytes) {
  __shared__ alignas(1024) unsigned box[kMaxBytes / 4];
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) init_for(&barrier, bytes);
  sync_cluster();
  if (threadIdx.x == 0 && blockIdx.x == 1) {
    constexpr unsigned short kAll = 0b111;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%3], [%0, {%1, %2}], [%4], %5;" ::"l"(&map),
        "r"(place.at[0]), "r"(place.at[1]), "r"(box_address(box)), "r"(box_address(&barrier)),
        "h"(kAll)
        : "memory");
  }
  wait_for_box(&barrier);
  for (int i = threadIdx.x; i < bytes / 4; i += kThreads)
    out[blockIdx.x * bytes / 4 + i] = box[i];
  sync_cluster();
}

template <int rank>
__global__ void store_kernel(const unsigned* in, const __grid_constant__ CUtensorMap map,
                             Place place, int bytes) {
  __shared__ alignas(1024) unsigned box[kMaxBytes / 4];
  for (int i = threadIdx.x; i < bytes / 4; i += kThreads)
    box[i] = in[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    store<rank>(map, place, box_address(box));
    wait_for_stores();
  }
}

template <BoxReduction how>
__device__ void reduce_2d(const CUtensorMap& map, const Place& p, unsigned from) {
  const auto* const m = &map;
#define GPUEXP_REDUCE(of, name)                                                               \
  if constexpr (how == BoxReduction::of)                                                      \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." name                      \
               ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(m),                             \
               "r"(p.at[0]), "r"(p.at[1]), "r"(from)                                          \
               : "memory")
  GPUEXP_REDUCE(add, "add");
  GPUEXP_REDUCE(min, "min");
  GPUEXP_REDUCE(max, "max");
  GPUEXP_REDUCE(increment, "inc");
  GPUEXP_REDUCE(decrement, "dec");
  GPUEXP_REDUCE(with_and, "and");
  GPUEXP_REDUCE(with_or, "or");
  GPUEXP_REDUCE(with_xor, "xor");
#undef GPUEXP_REDUCE
}

template <BoxReduction how>
__global__ void reduce_kernel(const unsigned* in, unsigned* tensor,
                              const __grid_constant__ CUtensorMap map, Place place, int bytes) {
  __shared__ alignas(1024) unsigned box[kMaxBytes / 4];
  for (int i = threadIdx.x; i < 256; i += kThreads)
    tensor[i] = in[i];
  for (int i = threadIdx.x; i < bytes / 4; i += kThreads)
    box[i] = in[256 + i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async;" ::: "memory");
    reduce_2d<how>(map, place, box_address(box));
    wait_for_stores();
  }
}

/// Fills the words that a copy may read.
__device__ void fill_box(unsigned* box, int words) {
  for (int i = threadIdx.x; i < words; i += kThreads)
    box[i] = i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

__global__ void tensor_overrun_kernel(const __grid_constant__ CUtensorMap map, int y) {
  __shared__ alignas(128) unsigned box[8 * 16];
  fill_box(box, 8 * 16);
  if (threadIdx.x != 0) return;
  asm volatile(GPUEXP_STORE("2d", "0, %1", "%2") ::"l"(&map), "r"(y), "r"(box_address(box)) : "memory");  // fault: tensor_overrun
  wait_for_stores();
}

__global__ void tensor_misaligned_kernel(const __grid_constant__ CUtensorMap map, int offset) {
  __shared__ alignas(128) unsigned box[9 * 16];
  fill_box(box, 9 * 16);
  if (threadIdx.x != 0) return;
  asm volatile(GPUEXP_STORE("2d", "0, 3", "%1") ::"l"(&map), "r"(box_address(box) + offset) : "memory");  // fault: tensor_misaligned
  wait_for_stores();
}

__global__ void tensor_coordinate_kernel(const __grid_constant__ CUtensorMap map, int x) {
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, 0}];" ::"l"(&map), "r"(x) : "memory");  // fault: tensor_coordinate
}

__global__ void tensor_below_kernel(const __grid_constant__ CUtensorMap map, int y) {
  __shared__ alignas(128) unsigned box[8 * 16];
  fill_box(box, 8 * 16);
  if (threadIdx.x != 0) return;
  asm volatile(GPUEXP_STORE("2d", "0, %1", "%2") ::"l"(&map), "r"(y), "r"(box_address(box)) : "memory");  // fault: tensor_below
  wait_for_stores();
}

__global__ void tensor_unwritten_kernel(const __grid_constant__ CUtensorMap map, int written) {
  __shared__ alignas(128) unsigned box[8 * 16];
  fill_box(box, written);
  if (threadIdx.x != 0) return;
  asm volatile(GPUEXP_STORE("2d", "0, 3", "%1") ::"l"(&map), "r"(box_address(box)) : "memory");  // fault: tensor_unwritten
  wait_for_stores();
}

__global__ void tensor_dimensions_kernel(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) unsigned box[8 * 16];
  fill_box(box, 8 * 16);
  if (threadIdx.x != 0) return;
  asm volatile(GPUEXP_STORE("2d", "0, 3", "%1") ::"l"(&map), "r"(box_address(box)) : "memory");  // fault: tensor_dimensions
  wait_for_stores();
}

int bytes_of(const TensorMap& map) {
  auto bytes = static_cast<int>(size_of(map.type));
  for (const std::int64_t box : map.box)
    bytes *= static_cast<int>(box);
  return bytes;
}

Place placed(const BoxPlace& place) {
  return {{place[0], place[1], place[2], place[3], place[4]}};
}

Shape one_block() {
  Shape shape;
  shape.block.x = kThreads;
  return shape;
}

TensorMap words_16_by_16(unsigned* out) {
  TensorMap map;
  map.base = out;
  map.type = DataType::uint32;
  map.extents = {16, 16};
  map.strides = {64};
  map.box = {16, 8};
  return map;
}

}  // namespace tensors

using namespace tensors;

Steps load_box(const TensorMap& map, const BoxPlace& place, unsigned* out) {
  constexpr decltype(&load_kernel<1>) kKernels[] = {load_kernel<1>, load_kernel<2>, load_kernel<3>,
                                                    load_kernel<4>, load_kernel<5>};
  return launch(kKernels[map.extents.size() - 1], one_block(), out, map, placed(place),
                bytes_of(map));
}

Steps multicast_box(const TensorMap& map, const BoxPlace& place, unsigned* out) {
  Shape shape = one_block();
  shape.grid.x = shape.cluster.x = 3;
  return launch(multicast_box_kernel, shape, out, map, placed(place), bytes_of(map));
}

Steps store_box(const TensorMap& map, const BoxPlace& place, const unsigned* in) {
  constexpr decltype(&store_kernel<1>) kKernels[] = {
      store_kernel<1>, store_kernel<2>, store_kernel<3>, store_kernel<4>, store_kernel<5>};
  return launch(kKernels[map.extents.size() - 1], one_block(), in, map, placed(place),
                bytes_of(map));
}

Steps reduce_box(const TensorMap& map, const BoxPlace& place, BoxReduction how, const unsigned* in,
                 unsigned* tensor) {
  using R = BoxReduction;
  constexpr decltype(&reduce_kernel<R::add>) kKernels[] = {
      reduce_kernel<R::add>,       reduce_kernel<R::min>,       reduce_kernel<R::max>,
      reduce_kernel<R::increment>, reduce_kernel<R::decrement>, reduce_kernel<R::with_and>,
      reduce_kernel<R::with_or>,   reduce_kernel<R::with_xor>};
  return launch(kKernels[static_cast<std::size_t>(how)], one_block(), in, tensor, map,
                placed(place), bytes_of(map));
}

Steps tensor_overrun(bool is_faulty, unsigned* out) {
  TensorMap map = words_16_by_16(out);
  if (is_faulty) map.extents[1] = 17;
  return launch(tensor_overrun_kernel, one_block(), map, 12);
}

Steps tensor_misaligned(bool is_faulty, unsigned* out) {
  return launch(tensor_misaligned_kernel, one_block(), words_16_by_16(out), is_faulty ? 64 : 0);
}

Steps tensor_coordinate(bool is_faulty, unsigned* out) {
  return launch(tensor_coordinate_kernel, one_block(), words_16_by_16(out), is_faulty ? 3 : 4);
}

Steps tensor_below(bool is_faulty, unsigned* out) {
  return launch(tensor_below_kernel, one_block(), words_16_by_16(out), is_faulty ? -1 : 0);
}

Steps tensor_unwritten(bool is_faulty, unsigned* out) {
  return launch(tensor_unwritten_kernel, one_block(), words_16_by_16(out), is_faulty ? 100 : 128);
}

Steps tensor_dimensions(bool is_faulty, unsigned* out) {
  TensorMap map = words_16_by_16(out);
  if (is_faulty) {
    map.extents = {16, 8, 2};
    map.strides = {64, 512};
    map.box = {16, 8, 1};
  }
  return launch(tensor_dimensions_kernel, one_block(), map);
}

}  // namespace gpuexp::test
