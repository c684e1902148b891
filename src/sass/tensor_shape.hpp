// Operations of a tensor core instruction.
#pragma once

#include <optional>
#include <string_view>

#include "base/types.hpp"

namespace gpuexp {

/// Multiply-adds per warp of a tensor core instruction such as "HMMA.16816.F32"; 0 for others.
double tensor_multiply_adds(std::string_view opcode);

/// Pipe for the types that the instruction multiplies and sums. Empty if it is no tensor core
/// instruction, or if no ceiling exists for its types.
std::optional<Pipe> tensor_pipe(std::string_view opcode);

}  // namespace gpuexp
