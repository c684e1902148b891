// Launches and buffers that exceed what a GPU, or the code of a kernel, allows.
#pragma once

#include <optional>
#include <string>

#include "device/device_spec.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Which launch or buffer of the variant, or of the reference, the GPU cannot have, with its place
/// in the declaration; empty if the GPU can run the problem. Compares the blocks with the kernels'
/// machine code for the GPU, which is compiled if it is not yet. Code that does not compile is no
/// reason.
std::optional<std::string> beyond_limits(const Bound& bound, const BoundVariant& variant,
                                         const OwnProblem& problem, const DeviceSpec& device);

}  // namespace gpuexp::own
