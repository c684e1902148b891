// `run` and `verify` without a GPU: the CPU executes the kernels.
#pragma once

#include <optional>
#include <string>

#include "cli/worker.hpp"
#include "plan/plan.hpp"
#include "simulated/simulated_executor.hpp"

namespace gpuexp::cli {

/// A simulated device with this spec of configs/devices. Throws ConfigError for an unknown spec.
std::optional<OpenDevice> open_simulated(const std::string& spec, const KernelResources& resources,
                                         double launch_timeout_s, ExecutedBlocks blocks);

/// Skips the cells that the CPU cannot execute, with the reason.
void skip_unsimulated_cells(Plan& plan, const KernelResources& resources, ExecutedBlocks blocks);

/// Parses --blocks: an integer of at least 2, or "all". Throws ConfigError for other text.
ExecutedBlocks read_blocks(const std::string& text);

}  // namespace gpuexp::cli
