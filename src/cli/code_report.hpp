// What the compiler made of a family's kernels, as `describe` shows it.
#pragma once

#include <string>

#include "base/json.hpp"
#include "plan/plan.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp::cli {

/// Of each group of a plan, the kernels that the variants launch: registers, memory, and how many
/// instructions of which class. Ends with what the classes mean that occur.
std::string code_text(const Plan& plan, const KernelResources& resources);

/// The same, and every opcode, one entry per group; null where the build had no cuobjdump.
Json code_json(const Plan& plan, const KernelResources& resources);

}  // namespace gpuexp::cli
