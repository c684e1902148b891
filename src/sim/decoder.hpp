// Decodes a kernel's listing into the form that the simulator executes.
#pragma once

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Throws std::runtime_error, which names the instruction, if the simulator does not execute one.
Program decode(const KernelCode& code);

/// The properties of an instruction that hardware counters depend on.
OpClass class_of(const ListedInstruction& listed);

}  // namespace gpuexp::sim
