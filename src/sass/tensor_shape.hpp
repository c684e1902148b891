#pragma once

#include <optional>
#include <string_view>

#include "base/types.hpp"

namespace gpuexp {

/// Multiply-adds per warp of an instruction such as "HMMA.16816.F32"; 0 for other instructions.
double tensor_multiply_adds(std::string_view opcode);

/// Pipe for the types that the instruction multiplies and sums. Empty if the instruction does not
/// use tensor cores, or if no ceiling exists for its types.
std::optional<Pipe> tensor_pipe(std::string_view opcode);

}  // namespace gpuexp
