#include "own/device_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "base/stored_element.hpp"

namespace gpuexp::own {

namespace {

constexpr std::int64_t kMaxBlocks = 65536;

double largest_magnitude(const void* data, DataType type, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(stored_element(data, type, i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

/// A launch whose threads go through `count` items, with these arguments.
template <class... Arguments>
KernelStep step_of(const void* kernel, std::int64_t count, const Arguments&... arguments) {
  KernelStep step;
  step.shape = grid_stride(count, kMaxBlocks);
  step.shape.kernel = kernel;
  (step.arguments.add(arguments), ...);
  return step;
}

}  // namespace

DeviceKernels& device_kernels() {
  static DeviceKernels kernels;
  return kernels;
}

Steps fill_step(void* to, std::int64_t count, const FillProgram& fill) {
  KernelStep step = step_of(device_kernels().fill, count, to, count, fill);
  const auto item_bytes = static_cast<std::int64_t>(size_of(fill.type));
  return with_host_loop(Steps(std::move(step)), {count,
                                                 [to, fill](std::int64_t first, std::int64_t end) {
                                                   for (std::int64_t i = first; i < end; ++i)
                                                     store_element(to, fill.type, i,
                                                                   fill_value(fill, i));
                                                 },
                                                 to, item_bytes});
}

Steps values_step(const ReferenceView& to, std::int64_t count, const void* data, DataType type) {
  KernelStep largest = step_of(device_kernels().largest, count, data, type, count, to.magnitude);
  // One item, because its loop computes one number from all elements.
  largest.on_host = {1, [to, count, data, type](std::int64_t, std::int64_t) {
                       *to.magnitude = largest_magnitude(data, type, count);
                     }};
  KernelStep values =
      step_of(device_kernels().values, count, data, type, count, to.value, to.magnitude);
  values.on_host = {count, [to, data, type](std::int64_t first, std::int64_t end) {
                      for (std::int64_t i = first; i < end; ++i) {
                        to.value[i] = stored_element(data, type, i);
                        if (i > 0) to.magnitude[i] = *to.magnitude;
                      }
                    }};
  Steps steps(MemsetStep{to.magnitude, 0, sizeof(double)});
  steps += Steps(std::move(largest));
  steps += Steps(std::move(values));
  return steps;
}

Steps check_step(const ReferenceView& to, std::int64_t count, const CheckProgram& program) {
  KernelStep step =
      step_of(device_kernels().check, count, to.value, to.magnitude, count, to.draw, program);
  const auto evaluate_range = [to, program](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const Checked checked = evaluate(program, i);
      to.value[i] = checked.value;
      to.magnitude[i] = checked.magnitude;
    }
  };
  return with_host_loop(Steps(std::move(step)), {count, evaluate_range, to.value, sizeof(double)});
}

}  // namespace gpuexp::own
