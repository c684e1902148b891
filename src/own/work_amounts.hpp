// The work of a launch: bytes and operations, as declared or assumed.
#pragma once

#include <string>
#include <vector>

#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Names in `work` statements: bytes_read, bytes_written, and the pipes.
std::vector<std::string> work_quantities();

/// The work of the variant. Bytes that are not declared are those of the buffers that the steps
/// use, each read or written once. Throws DeclarationError if an amount cannot be evaluated.
Work work_of(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem);

}  // namespace gpuexp::own
