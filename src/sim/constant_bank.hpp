// Constant bank 0 of a launch: what the driver puts there for a kernel to read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "family/step.hpp"
#include "sim/block.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

/// Sets the launch's constants: its sizes, where shared and local memory lie among generic
/// addresses, and its arguments, at the offsets that ptxas gives them for this compute capability
/// (80 for 8.0); and where tensor maps are among these.
void set_constants(LaunchState& launch, const KernelStep& step, int compute_capability);

/// Whether code comes to the cluster's barrier without asking whether there is one, as that of
/// kernels with __cluster_dims__.
bool has_fixed_clusters(const Program& program, int compute_capability);

/// Why this program's reads of the bank cannot be executed: it reads what is at no known offset.
/// Empty if they can.
std::string unknown_constant(const Program& program, int compute_capability);

}  // namespace gpuexp::sim
