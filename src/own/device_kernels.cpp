#include "own/device_kernels.hpp"

namespace gpuexp::own {

namespace {

constexpr std::int64_t kMaxBlocks = 65536;

}  // namespace

DeviceKernels& device_kernels() {
  static DeviceKernels kernels;
  return kernels;
}

Steps fill_step(void* to, std::int64_t count, const FillProgram& fill) {
  KernelStep step;
  step.shape = grid_stride(count, kMaxBlocks);
  step.shape.kernel = device_kernels().fill;
  step.arguments.add(to);
  step.arguments.add(count);
  step.arguments.add(fill);
  const auto item_bytes = static_cast<std::int64_t>(size_of(fill.type));
  return with_host_loop(Steps(std::move(step)), {count,
                                                 [to, fill](std::int64_t first, std::int64_t end) {
                                                   for (std::int64_t i = first; i < end; ++i)
                                                     store_element(to, fill.type, i,
                                                                   fill_value(fill, i));
                                                 },
                                                 to, item_bytes});
}

Steps check_step(const ReferenceView& to, std::int64_t count, const CheckProgram& program) {
  KernelStep step;
  step.shape = grid_stride(count, kMaxBlocks);
  step.shape.kernel = device_kernels().check;
  step.arguments.add(to.value);
  step.arguments.add(to.magnitude);
  step.arguments.add(count);
  step.arguments.add(to.draw);
  step.arguments.add(program);
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
