#include "sim/simulator.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "sass/grid_barrier.hpp"
#include "sass/loaded_kernels.hpp"
#include "sim/constant_bank.hpp"
#include "sim/decoder.hpp"
#include "sim/tensor_box.hpp"

namespace gpuexp::sim {

namespace {

// Limits of cudaLaunchKernelEx (CUDA C++ Programming Guide, "Thread block clusters").
std::string cluster_refusal(const Shape& shape) {
  const Extent& cluster = shape.cluster;
  const Extent& grid = shape.grid;
  // Maximum number of blocks without the attribute for larger clusters, which is never set.
  constexpr std::int64_t kMaxBlocks = 8;
  if (cluster.count() > kMaxBlocks)
    return fmt::format("a cluster of {} blocks exceeds {}", cluster.count(), kMaxBlocks);
  const bool is_whole =
      grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  if (is_whole) return "";
  return fmt::format("a grid of {} blocks is not a multiple of clusters of {}", to_text(grid),
                     to_text(cluster));
}

std::string map_refusal(const PackedArguments& arguments) {
  for (std::size_t i = 0; i < arguments.count(); ++i) {
    const TensorMap* const map = arguments.tensor_map(i);
    if (!map) continue;
    if (const std::string why = tensor_map_refusal(*map); !why.empty()) return why;
  }
  return "";
}

}  // namespace

Simulator::Simulator(const KernelResources& kernels, int compute_capability)
    : threads(host_threads()), kernels_(kernels), compute_capability_(compute_capability) {}

std::string Simulator::refusal(const Steps& steps) {
  for (const Step& step : steps.all()) {
    if (const auto* call = std::get_if<OpaqueStep>(&step.action))
      return fmt::format("a call of {} cannot be executed without its library", call->what);
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || (uses_host_loops && kernel->on_host.run)) continue;
    if (kernel->arguments.has_textures())
      return "fetches of texture objects (TLD) are not simulated";
    try {
      const bool has_clusters = kernel->shape.cluster.count() > 1;
      if (kernel_of(kernel->shape.kernel).has_fixed_clusters && !has_clusters)
        return "the kernel is compiled for clusters, but its launch has none";
    } catch (const std::runtime_error& why) {
      return why.what();
    }
    if (const std::string why = cluster_refusal(kernel->shape); !why.empty()) return why;
    if (const std::string why = map_refusal(kernel->arguments); !why.empty()) return why;
  }
  return "";
}

std::string Simulator::sampling_refusal(const Steps& steps) {
  std::set<int> streams;
  for (const Step& step : steps.all()) {
    const auto* const copy = std::get_if<CopyStep>(&step.action);
    if (copy && LoadedKernels::global().find_variable(copy->from))
      return "its results are variables, whose written elements are not known";
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel) continue;
    if (!streams.insert(step.stream).second || !step.after.empty())
      return "it has several kernels, which need each other's results";
    if (kernel->cooperative) return "its blocks wait for each other";
    if (kernel_of(kernel->shape.kernel).program.has_global_atomics)
      return "its blocks change global memory by atomic operations";
  }
  return "";
}

std::vector<KernelExecution> Simulator::run(const Steps& steps,
                                            const std::optional<BlockSampling>& sampling) {
  if (const std::string why = refusal(steps); !why.empty()) throw std::runtime_error(why);
  std::vector<KernelExecution> executions;
  for (const Step& step : steps.all()) {
    if (const auto* kernel = std::get_if<KernelStep>(&step.action)) {
      if (uses_host_loops && kernel->on_host.run) {
        run_on_host(kernel->on_host);
      } else if (kernel->shape.grid.count() > 0) {
        executions.push_back(run(*kernel, sampling));
      }
    } else if (const auto* fill = std::get_if<MemsetStep>(&step.action)) {
      memory_.set(fill->to, fill->value, static_cast<std::size_t>(fill->bytes));
    } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      copy_rows(*copy);
    }
  }
  return executions;
}

void Simulator::clear_memory() {
  memory_.clear();
  modules_.clear();
}

void Simulator::restore_variables() {
  for (const auto& [data, module] : modules_)
    module->restore();
}

ModuleMemory* Simulator::module_of(const KernelResource& resource) {
  if (!resource.module_data) return nullptr;
  std::unique_ptr<ModuleMemory>& module = modules_[resource.module_data];
  if (!module) module = std::make_unique<ModuleMemory>(*resource.module_data, memory_);
  return module.get();
}

void* Simulator::memory_at(void* address, std::int64_t bytes) {
  const LoadedVariable* const variable = LoadedKernels::global().find_variable(address);
  if (!variable) return address;
  ModuleMemory* const module = module_of(resource_of(variable->kernel));
  if (!module) throw std::runtime_error(variable->lowered_name + " has no module");
  return module->copied(variable->lowered_name, static_cast<std::uint64_t>(bytes));
}

void Simulator::copy_rows(const CopyStep& copy) {
  char* const to = static_cast<char*>(memory_at(copy.to, copy.bytes));
  const char* const from =
      static_cast<const char*>(memory_at(const_cast<void*>(copy.from), copy.bytes));
  for (std::int64_t row = 0; row < copy.rows; ++row) {
    memory_.copy(to + row * copy.to_pitch, from + row * copy.from_pitch,
                 static_cast<std::size_t>(copy.bytes));
  }
}

void Simulator::fill(const Steps& steps) {
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel || !fills_later(*kernel)) run(step);
  }
}

bool Simulator::fills_later(const KernelStep& kernel) {
  const HostLoop& loop = kernel.on_host;
  if (!uses_host_loops || !loop.to) return false;
  const std::span<const std::byte> arguments = kernel.arguments.bytes();
  if (loop.run) return memory_.defer_fill(loop, arguments);
  // A part must contain the items of whole blocks.
  return memory_.defer_fill(loop_of_blocks(kernel), arguments,
                            std::lcm(LateFill::kPartItems, kernel.shape.block.count()));
}

KernelResource Simulator::resource_of(const void* stub) const {
  const auto found = kernels_.find(stub, compute_capability_);
  if (found && found->resource.launches_kernels)
    throw std::runtime_error("kernels that launch kernels are not executed");
  if (found && found->exact && !found->resource.code.empty()) return found->resource;
  if (found && !found->exact && find_code) return find_code(found->resource, compute_capability_);
  throw std::runtime_error(
      fmt::format("this binary holds no machine code of the kernel for compute capability {}.{}",
                  compute_capability_ / 10, compute_capability_ % 10));
}

Simulator::Kernel& Simulator::kernel_of(const void* stub) {
  std::unique_ptr<Kernel>& kernel = decoded_[stub];
  if (kernel) return *kernel;
  const KernelResource resource = resource_of(stub);
  if (synchronizes_grid(resource.code.text(), compute_capability_))
    throw std::runtime_error(
        "synchronizes the whole grid with cooperative groups, which is not executed");
  KernelCode code = read_code_text(resource.code.text());
  code.lowered_name = resource.lowered_name;
  Program program = decode(code);
  if (const std::string why = unknown_constant(program, compute_capability_); !why.empty())
    throw std::runtime_error(why);
  const bool fixed = has_fixed_clusters(program, compute_capability_);
  const bool in_groups = uses_group_memory(program, compute_capability_);
  kernel = std::make_unique<Kernel>(Kernel{resource, std::move(program), fixed, in_groups, {}});
  return *kernel;
}

LaunchState Simulator::launch_of(const KernelStep& step) {
  const Kernel& kernel = kernel_of(step.shape.kernel);
  LaunchState launch;
  launch.program = &kernel.program;
  launch.global = &memory_;
  launch.stop = &stop;
  launch.grid = step.shape.grid;
  launch.block = step.shape.block;
  launch.cluster = step.shape.cluster;
  launch.system_shared_bytes = reserved_shared_bytes(compute_capability_);
  launch.shared_bytes =
      launch.system_shared_bytes + static_cast<std::size_t>(kernel.resource.static_shared_bytes +
                                                            step.shape.dynamic_shared_bytes);
  // More than ptxas reports, because a wide load may write registers that no instruction reads.
  constexpr unsigned kMore = 8;
  launch.registers = std::min(255u, static_cast<unsigned>(kernel.resource.registers) + kMore);
  if (kernel.uses_group_memory) add_group_memory(launch, compute_capability_);
  launch.module = module_of(kernel.resource);
  set_constants(launch, step, compute_capability_);
  if (kernel.program.has_constant_operands) launch.ops = with_constants(launch);
  launch.checks = checks_;
  return launch;
}

const IdleOps& Simulator::idle_of(const KernelStep& step, bool keeps_global) {
  Kernel& kernel = kernel_of(step.shape.kernel);
  std::optional<IdleOps>& idle = kernel.idle[keeps_global];
  if (!idle) idle = idle_ops(kernel.program, keeps_global);
  return *idle;
}

bool Simulator::is_decided_by_global(const KernelStep& step) {
  return idle_of(step, false).global_decides;
}

bool Simulator::has_loops_decided_by_global(const KernelStep& step) {
  return idle_of(step, false).global_decides_loops;
}

LaunchState Simulator::approximate_launch_of(const KernelStep& step, bool keeps_global) {
  LaunchState launch = launch_of(step);
  launch.checks.memory = false;
  // This program's kernels are verified before they are predicted. Addresses of kernels that load
  // indices are not checked, because a prediction may not execute what stores the indices.
  launch.checks.bounds = !keeps_global && LoadedKernels::global().find(step.shape.kernel);
  launch.counts_accesses = false;
  launch.is_approximate = true;
  if (launch.ops.empty()) launch.ops = launch.program->ops;
  leave_out(idle_of(step, keeps_global), launch.ops);
  return launch;
}

KernelExecution Simulator::run(const KernelStep& step,
                               const std::optional<BlockSampling>& sampling) {
  LaunchState launch = launch_of(step);
  launch.observation = observation_ ? &*observation_ : nullptr;
  launch.print = &print;
  // Blocks of a cooperative launch wait for each other, so they take turns, as blocks of a cluster
  // do.
  if (step.cooperative && launch.cluster.count() == 1) launch.cluster = launch.grid;
  GridRun grid(launch, threads, stop);
  try {
    KernelExecution execution = sampling ? grid.run_some(*sampling) : grid.run_all();
    if (!memory_.is_shared()) memory_.settle();
    return execution;
  } catch (Fault& fault) {
    fault.set_kernel(kernel_name(kernel_of(step.shape.kernel).resource.lowered_name));
    throw;
  }
}

// Launches one thread per item. LateFill requests the items of whole blocks.
HostLoop Simulator::loop_of_blocks(const KernelStep& step) {
  HostLoop loop = step.on_host;
  KernelStep whole = step;
  const std::int64_t block_threads = step.shape.block.count();
  whole.shape.grid = {(loop.items + block_threads - 1) / block_threads, 1, 1};
  LaunchState launch = launch_of(whole);
  launch.checks.memory = false;
  loop.run = [launch, block_threads, loop](std::int64_t first, std::int64_t end) {
    GlobalMemory made;
    made.add(static_cast<std::byte*>(loop.to) + first * loop.item_bytes,
             static_cast<std::size_t>((end - first) * loop.item_bytes));
    LaunchState part = launch;
    part.global = &made;
    for (std::int64_t block = first / block_threads; block * block_threads < end; ++block)
      Block(part, {block, 0, 0}).run();
  };
  return loop;
}

// The loop may read any buffer, so the data of all buffers are generated first.
void Simulator::run_on_host(const HostLoop& loop) {
  memory_.make_all(threads);
  constexpr std::int64_t kMaxItems = 1 << 16;
  constexpr std::int64_t kParts = 16;  // per thread: items of checks may take milliseconds
  const std::int64_t items =
      std::clamp(loop.items / (kParts * threads), std::int64_t{1}, kMaxItems);
  for_parts(threads, loop.items, items, [&](std::int64_t first, std::int64_t end) {
    if (stop()) throw Stopped("the run was ended");
    loop.run(first, end);
  });
  if (loop.to) memory_.note_fill(loop.to, static_cast<std::size_t>(loop.items * loop.item_bytes));
}

}  // namespace gpuexp::sim
