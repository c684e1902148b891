#include "sim/simulator.hpp"

#include <cstring>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/decoder.hpp"

namespace gpuexp::sim {

namespace {

// Where constant bank 0 has a kernel's parameters (the offsets in its machine code).
std::size_t parameters_at(int compute_capability) {
  return compute_capability >= 90 ? 0x210 : 0x160;
}

// From Hopper on, a block's shared memory begins with 1 KiB of the system's own.
std::size_t reserved_shared_bytes(int compute_capability) {
  return compute_capability >= 90 ? 1024 : 0;
}

std::vector<std::byte> constants_of(const KernelStep& step, int compute_capability) {
  const Shape& shape = step.shape;
  const std::size_t begin = parameters_at(compute_capability);
  const std::vector<std::byte>& arguments = step.arguments.bytes();
  // Loads of 8 or 16 bytes may reach beyond the last argument.
  constexpr std::size_t kPadding = 16;
  std::vector<std::byte> constants(begin + arguments.size() + kPadding);
  std::uint32_t sizes[6];
  const std::int64_t extents[6] = {shape.block.x, shape.block.y, shape.block.z,
                                   shape.grid.x,  shape.grid.y,  shape.grid.z};
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    sizes[i] = static_cast<std::uint32_t>(extents[i]);
  std::memcpy(constants.data(), sizes, sizeof sizes);
  // Where local memory lies among generic addresses, and where a thread's stack begins.
  constexpr std::size_t kLocalWindowAt = 0x20;
  constexpr std::size_t kStackAt = 0x28;
  std::memcpy(constants.data() + kLocalWindowAt, &kLocalWindow, sizeof kLocalWindow);
  std::memcpy(constants.data() + kStackAt, &kLocalBytes, sizeof kLocalBytes);
  if (!arguments.empty()) std::memcpy(constants.data() + begin, arguments.data(), arguments.size());
  return constants;
}

void add(std::vector<OpCount>& sum, const std::vector<OpCount>& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i].warps += more[i].warps;
    sum[i].lanes += more[i].lanes;
    sum[i].lanes_on += more[i].lanes_on;
  }
}

}  // namespace

Simulator::Simulator(const KernelResources& kernels, int compute_capability)
    : kernels_(kernels), compute_capability_(compute_capability) {}

std::vector<KernelExecution> Simulator::run(const Steps& steps) {
  std::vector<KernelExecution> executions;
  for (const Step& step : steps.all()) {
    if (const auto* kernel = std::get_if<KernelStep>(&step.action)) {
      if (kernel->shape.grid.count() > 0) executions.push_back(run(*kernel));
    } else if (const auto* fill = std::get_if<MemsetStep>(&step.action)) {
      std::memset(fill->to, fill->value, static_cast<std::size_t>(fill->bytes));
    } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      std::memmove(copy->to, copy->from, static_cast<std::size_t>(copy->bytes));
    } else {
      throw std::runtime_error(fmt::format("a call of {} cannot be executed without its library",
                                           std::get<OpaqueStep>(step.action).what));
    }
  }
  return executions;
}

const Simulator::Kernel& Simulator::kernel_of(const void* stub) {
  std::unique_ptr<Kernel>& kernel = decoded_[stub];
  if (kernel) return *kernel;
  const auto found = kernels_.find(stub, compute_capability_);
  if (!found || !found->exact || found->resource.code.empty())
    throw std::runtime_error(
        fmt::format("this binary holds no machine code of the kernel for compute capability {}.{}",
                    compute_capability_ / 10, compute_capability_ % 10));
  KernelCode code = read_code_text(found->resource.code);
  code.lowered_name = found->resource.lowered_name;
  auto made = std::make_unique<Kernel>(Kernel{found->resource, decode(code)});
  kernel = std::move(made);
  return *kernel;
}

KernelExecution Simulator::run(const KernelStep& step) {
  const Kernel& kernel = kernel_of(step.shape.kernel);
  if (step.shape.cluster.count() > 1) throw std::runtime_error("clusters are not executed");
  LaunchState launch;
  launch.program = &kernel.program;
  launch.global = &memory_;
  launch.grid = step.shape.grid;
  launch.block = step.shape.block;
  launch.shared_bytes = reserved_shared_bytes(compute_capability_) +
                        static_cast<std::size_t>(kernel.resource.static_shared_bytes +
                                                 step.shape.dynamic_shared_bytes);
  launch.constants = constants_of(step, compute_capability_);
  KernelExecution execution{&kernel.program, std::vector<OpCount>(kernel.program.ops.size()), {}};
  Extent place;
  for (place.z = 0; place.z < launch.grid.z; ++place.z) {
    for (place.y = 0; place.y < launch.grid.y; ++place.y) {
      for (place.x = 0; place.x < launch.grid.x; ++place.x) {
        Block block(launch, place);
        try {
          block.run();
        } catch (const Fault& fault) {
          throw Fault(fmt::format("{}, block ({}, {}, {}): {}",
                                  kernel_name(kernel.resource.lowered_name), place.x, place.y,
                                  place.z, fault.what()));
        }
        add(execution.counts, block.counts);
        execution.memory += block.memory;
      }
    }
  }
  return execution;
}

}  // namespace gpuexp::sim
