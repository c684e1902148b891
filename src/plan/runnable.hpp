// Variants of a plan of which no cell can run.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace gpuexp {

/// Throws ConfigError if an experiment has no cell that can run and one without code for the GPU,
/// or if a variant of a kernel file has no cell that can run and one that exceeds a limit.
void check_runnable(const Plan& plan);

/// A cell of each variant of which no cell can run, and one has no code for the GPU. Ordered by
/// experiment.
std::vector<Cell> without_code(const Plan& plan);

/// Messages about cells of without_code(), one for each reason: "no cell of a, b has code: …".
std::vector<std::string> messages_without_code(const std::vector<Cell>& cells);

}  // namespace gpuexp
