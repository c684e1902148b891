// `run` and `verify` without a GPU: the CPU executes the kernels.
#pragma once

#include <memory>
#include <string>

#include "cli/app.hpp"
#include "cli/worker.hpp"
#include "plan/plan.hpp"
#include "simulated/simulated_executor.hpp"

namespace gpuexp::cli {

/// A simulated device with this spec of configs/devices. Throws ConfigError for an unknown spec.
DeviceInfo simulated_device(const std::string& spec);

/// Executes launches on the CPU. If the context has kernel files, another process executes them, so
/// that no kernel of a user can end this process. That process has what this process has compiled
/// until now. Call this function while no other thread runs. The arguments must outlive the
/// executor.
std::unique_ptr<Executor> simulated_executor(const Context& context, const DeviceInfo& device,
                                             double launch_timeout_s, ExecutedBlocks blocks);

/// Adds the option --launch-timeout. `effect` says what happens to a launch that takes longer, as
/// the end of a sentence.
void add_launch_timeout(Command& command, double& seconds, const std::string& effect);

/// Skips the cells that the CPU cannot execute, with the reason.
void skip_unsimulated_cells(Plan& plan, const KernelResources& resources, ExecutedBlocks blocks);

/// Parses --blocks: an integer of at least 2, or "all". Throws ConfigError for other text.
ExecutedBlocks read_blocks(const std::string& text);

}  // namespace gpuexp::cli
