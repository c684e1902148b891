// From a kernel's listing to what is executed.
#pragma once

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Throws std::runtime_error with the instruction where the simulator does not execute it.
Program decode(const KernelCode& code);

/// What counters ask of the instruction.
OpClass class_of(const ListedInstruction& listed);

}  // namespace gpuexp::sim
