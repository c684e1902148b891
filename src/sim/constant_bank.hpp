// Constant bank 0 of a launch, in which the driver stores values for the kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "family/step.hpp"
#include "sim/block.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

/// Sets the launch's constants at the offsets that ptxas uses for this compute capability (80 for
/// 8.0): launch sizes, the windows of shared and local memory in generic addresses, and arguments.
/// Also sets the addresses of tensor maps among the arguments.
void set_constants(LaunchState& launch, const KernelStep& step, int compute_capability);

/// Returns the program's ops with constant operands replaced by immediates. An op that needs the
/// address of a variable of an unknown module becomes a fault. Throws std::runtime_error if a
/// constant is outside of its bank.
std::vector<Op> with_constants(const LaunchState& launch);

/// The fault of code that needs the address of a variable, if the module's variables are unknown.
Fault unknown_variable();

/// Bytes at the start of a block's shared memory that are reserved for the system: since Hopper,
/// the first 1 KiB.
std::size_t reserved_shared_bytes(int compute_capability);

/// Whether the code uses the shared memory that the system reserves for cooperative groups, in
/// which tiles of several warps synchronize.
bool uses_group_memory(const Program& program, int compute_capability);
/// Reserves it at the end of the system's shared memory or, before Hopper, after the block's own.
/// Call it before set_constants().
void add_group_memory(LaunchState& launch, int compute_capability);

/// Whether the code uses the cluster's barrier without testing whether the launch has clusters, as
/// in kernels with __cluster_dims__.
bool has_fixed_clusters(const Program& program, int compute_capability);

/// Why the program's reads of the bank at fixed offsets cannot be executed: the content at an
/// offset is unknown. Empty if they can.
std::string unknown_constant(const Program& program, int compute_capability);

}  // namespace gpuexp::sim
