// Steps as CUDA runs them: order, dependencies between streams, attributes.
#include "gpu/launcher_steps.hpp"
#include "kernels/common/launch.cuh"

namespace gpuexp::test {

namespace {

__global__ void add_kernel(int* to, const int* from, int value) {
  *to = *from + value;
}

// Long enough for whoever does not wait to be seen.
__global__ void slow_set_kernel(int* to, int value) {
  const long long start = clock64();
  while (clock64() - start < 20'000'000) {
  }
  *to = value;
}

__global__ void count_kernel(int* count) {
  atomicAdd(count, 1);
}

}  // namespace

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
