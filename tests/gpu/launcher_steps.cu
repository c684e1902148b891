// Steps as CUDA executes them: order, dependencies between streams, attributes.
#include <cuda.h>

#include "gpu/launcher_steps.hpp"
#include "kernels/common/launch.cuh"

namespace gpuexp::test {

namespace {

__global__ void add_kernel(int* to, const int* from, int value) {
  *to = *from + value;
}

// Slow enough to detect a step that does not wait.
__global__ void slow_set_kernel(int* to, int value) {
  const long long start = clock64();
  while (clock64() - start < 20'000'000) {
  }
  *to = value;
}

__global__ void count_kernel(int* count) {
  atomicAdd(count, 1);
}

// PTX ISA, cp.async.bulk.tensor: the copy completes on an mbarrier that expects its bytes.
__global__ void read_box_kernel(float* to, const __grid_constant__ CUtensorMap map, int elements,
                                int x, int y) {
#if __CUDA_ARCH__ >= 900
  constexpr int kMaxElements = 4096;
  __shared__ alignas(1024) float box[kMaxElements];
  __shared__ std::uint64_t barrier;
  const auto box_at = static_cast<unsigned>(__cvta_generic_to_shared(box));
  const auto barrier_at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_at),
                 "r"(elements * 4)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(box_at),
        "l"(&map), "r"(x), "r"(y), "r"(barrier_at)
        : "memory");
  }
  __syncthreads();
  unsigned is_done = 0;
  while (is_done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.b32 %0, 1, 0, p; }"
        : "=r"(is_done)
        : "r"(barrier_at)
        : "memory");
  }
  for (int i = static_cast<int>(threadIdx.x); i < elements; i += static_cast<int>(blockDim.x))
    to[i] = box[i];
#endif
}

}  // namespace

Steps read_box(float* d_to, const TensorMap& map, int x, int y) {
  Shape shape;
  shape.block.x = 64;
  const auto elements = static_cast<int>(map.box[0] * map.box[1]);
  return launch(read_box_kernel, shape, d_to, map, elements, x, y);
}

Steps slow_then_waiting(int* d_first, int* d_second) {
  Shape one;
  Steps steps = launch(slow_set_kernel, one, d_first, 5);
  steps.all()[0].stream = 1;
  steps += launch(add_kernel, one, d_second, d_first, 2);
  steps.all()[1].stream = 2;
  steps.all()[1].after = {0};
  return steps;
}

Steps slow_on_other_stream(int* d_to) {
  Steps steps = launch(slow_set_kernel, Shape{}, d_to, 7);
  steps.all()[0].stream = 1;
  return steps;
}

Steps with_every_attribute(int* d_count, const void* window, std::int64_t window_bytes) {
  Shape shape;
  shape.grid.x = 4;
  shape.cluster.x = 2;
  Steps steps = launch(count_kernel, shape, d_count);
  auto& kernel = std::get<KernelStep>(steps.all()[0].action);
  kernel.programmatic = true;
  kernel.window = AccessPolicyWindow{window, window_bytes, 0.5f};
  Steps cooperative = launch(count_kernel, Shape{}, d_count);
  std::get<KernelStep>(cooperative.all()[0].action).cooperative = true;
  return steps + cooperative;
}

Steps over_nothing(int* d_count) {
  return launch(count_kernel, grid_stride(0, 100), d_count);
}

}  // namespace gpuexp::test
