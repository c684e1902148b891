// run and verify without a GPU: kernels executed on the CPU.
#pragma once

#include <optional>
#include <string>

#include "cli/worker.hpp"
#include "plan/plan.hpp"
#include "simulated/simulated_executor.hpp"

namespace gpuexp::cli {

/// The GPU that the spec of configs/devices describes, executed on the CPU. Throws ConfigError for
/// a spec that is not there.
std::optional<OpenDevice> open_simulated(const std::string& spec, const KernelResources& resources,
                                         double launch_timeout_s, ExecutedBlocks blocks);

/// Gives each cell that the CPU does not execute its reason.
void skip_what_is_not_simulated(Plan& plan, const KernelResources& resources,
                                ExecutedBlocks blocks);

/// What --blocks says: a number, or all. Throws ConfigError for anything else.
ExecutedBlocks read_blocks(const std::string& text);

}  // namespace gpuexp::cli
