// Decodes a kernel's listing into the form that the simulator executes.
#pragma once

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Throws std::runtime_error with the instruction if the simulator cannot execute an instruction.
Program decode(const KernelCode& code);

OpClass class_of(const ListedInstruction& listed);

}  // namespace gpuexp::sim
