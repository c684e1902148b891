// How much an instruction of the tensor cores computes.
#pragma once

#include <optional>
#include <string_view>

#include "base/types.hpp"

namespace gpuexp {

/// Multiply-adds of a warp's instruction of the tensor cores, "HMMA.16816.F32"; 0 of others.
double tensor_multiply_adds(std::string_view opcode);

/// The types that it multiplies and sums, by its modifiers; empty where it is none, or of types
/// that have no ceiling.
std::optional<Pipe> tensor_pipe(std::string_view opcode);

}  // namespace gpuexp
