#include "own/device_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/stored_element.hpp"
#include "own/host_evaluation.hpp"

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

/// About how many of the elements are drawn.
double drawn_elements(const ElementDraw& draw, std::int64_t count) {
  const double share = draw.is_all() ? 1 : std::ldexp(static_cast<double>(draw.threshold), -64);
  return share * static_cast<double>(count);
}

/// Whether a GPU needs less time with a block per element, whose threads compute the parts of its
/// long sums, than with a thread per element.
bool is_faster_by_block(const CheckProgram& program, double elements) {
  constexpr double kThreads = 1 << 17;  // about as many as a GPU executes at a time
  constexpr double kCombine = 30;       // instructions that take as long as adding the parts
  const double split_cost = program.cost - program.unsplit_cost;
  const double by_thread = program.cost * std::max(1.0, elements / kThreads);
  const double by_block = (program.unsplit_cost + split_cost / kSumParts + kCombine) *
                          std::max(1.0, elements * kSumParts / kThreads);
  return by_block < by_thread;
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

Steps check_step(const ReferenceView& to, std::int64_t count, const CompiledCheck& check) {
  const CheckProgram& program = check.program;
  const bool by_block = is_faster_by_block(program, drawn_elements(to.draw, count));
  KernelStep step = step_of(by_block ? device_kernels().check_by_block : device_kernels().check,
                            count, to.value, to.magnitude, count, to.draw, program);
  if (by_block) {
    step.shape.grid.x = std::min(count, kMaxBlocks);
    step.shape.block.x = kSumParts;
  }
  const auto on_host = std::make_shared<HostEvaluation>(check);
  const auto evaluate_range = [to, on_host](std::int64_t first, std::int64_t end) {
    on_host->evaluate(to, first, end);
  };
  return with_host_loop(Steps(std::move(step)), {count, evaluate_range, to.value, sizeof(double)});
}

}  // namespace gpuexp::own
