#include "cli/simulation.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/bounded_output.hpp"
#include "base/process_copies.hpp"
#include "base/text.hpp"
#include "cli/number_checks.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "worker/remote_executor.hpp"
#include "worker/serve.hpp"

namespace gpuexp::cli {

namespace {

/// Bytes for buffers: half of the free host memory. The other half is for reference results.
std::int64_t memory_for_buffers() {
  return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

std::unique_ptr<Executor> executor_here(const Context& context, const DeviceInfo& device,
                                        double launch_timeout_s, ExecutedBlocks blocks) {
  SimulatedOptions options;
  options.blocks = blocks;
  options.launch_timeout_s = launch_timeout_s;
  options.interrupted = interrupted;
  const auto printed = std::make_shared<BoundedOutput>(
      [](std::string_view text) { fmt::print(stderr, "{}", text); }, "the kernels");
  options.print = [printed](std::string_view text) { printed->add(text); };
  return make_simulated_executor(device.spec, context.resources, options);
}

}  // namespace

DeviceInfo simulated_device(const std::string& spec) {
  DeviceInfo device;
  device.spec = find_device_spec(device_specs(), spec).spec;
  device.spec_id = device.spec.id;
  device.spec.simulated = true;
  device.free_bytes = memory_for_buffers();
  return device;
}

std::unique_ptr<Executor> simulated_executor(const Context& context, const DeviceInfo& device,
                                             double launch_timeout_s, ExecutedBlocks blocks) {
  if (context.kernel_files.paths().empty())
    return executor_here(context, device, launch_timeout_s, blocks);
  const auto copies = std::make_shared<ProcessCopies>([=, &context, &device](Channel& channel) {
    channel.send("simulates");  // the greeting that RemoteExecutor expects
    const auto tracer = make_nvtx_tracer();
    serve(
        channel, context.registry,
        [&] { return executor_here(context, device, launch_timeout_s, blocks); }, *tracer);
  });
  RemoteOptions options;
  options.start = [copies] { return copies->start(); };
  // The executor itself ends a launch after this time, unless the launch makes it hang.
  constexpr double kToEndS = 10;
  options.launch_timeout_s = launch_timeout_s + kToEndS;
  // It also ends references that are kernels. Checks end by themselves, after hours at worst.
  constexpr double kDayS = 86400;
  options.reference_timeout_s = kDayS;
  options.interrupted = interrupted;
  options.simulated = true;
  return std::make_unique<RemoteExecutor>(options);
}

void add_launch_timeout(Command& command, double& seconds, const std::string& effect) {
  command
      .add_option("--launch-timeout", seconds,
                  fmt::format("time limit of one launch in seconds, after which {} (default: {:g})",
                              effect, seconds))
      ->check(above_zero());
}

void skip_unsimulated_cells(Plan& plan, const KernelResources& resources, ExecutedBlocks blocks) {
  SimulatedOptions options;
  options.blocks = blocks;
  SimulationLimits limits(plan.device, resources, options);
  for (Group& group : plan.groups) {
    for (Cell& cell : group.cells) {
      if (!cell.skip_reason.empty()) continue;
      cell.skip_reason = limits.refusal(*cell.variant, group.problem.get());
      if (cell.skip_reason.empty())
        cell.skip_reason = limits.reference_refusal(*plan.experiment(group).family, *cell.variant,
                                                    group.problem.get());
      if (cell.skip_reason.empty()) continue;
      if (cell.variant->is_vendor || limits.lacks_code_of_gpu(*cell.variant, group.problem.get()))
        cell.skip_cause = SkipCause::machine_lacks;
    }
  }
}

ExecutedBlocks read_blocks(const std::string& text) {
  if (text == "all") return {ExecutedBlocks::kAll};
  const auto count = parsed<std::int64_t>(text);
  if (count.value_or(0) < 2)
    throw ConfigError(fmt::format("--blocks {}: expected an integer of at least 2, or all", text));
  return {*count};
}

}  // namespace gpuexp::cli
