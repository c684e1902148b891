#include "cli/simulation.hpp"

#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "base/bounded_output.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"

namespace gpuexp::cli {

namespace {

/// Bytes for buffers: half of the free host memory. The other half is for reference results.
std::int64_t memory_for_buffers() {
  return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

}  // namespace

std::optional<OpenDevice> open_simulated(const std::string& spec, const KernelResources& resources,
                                         double launch_timeout_s, ExecutedBlocks blocks) {
  OpenDevice device;
  device.info.spec = find_device_spec(device_specs(), spec).spec;
  device.info.spec_id = device.info.spec.id;
  device.info.spec.simulated = true;
  device.info.free_bytes = memory_for_buffers();
  SimulatedOptions options;
  options.blocks = blocks;
  options.launch_timeout_s = launch_timeout_s;
  options.interrupted = interrupted;
  const auto printed = std::make_shared<BoundedOutput>(
      [](std::string_view text) { fmt::print(stderr, "{}", text); }, "the kernels");
  options.print = [printed](std::string_view text) { printed->add(text); };
  device.executor = make_simulated_executor(device.info.spec, resources, options);
  return device;
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
