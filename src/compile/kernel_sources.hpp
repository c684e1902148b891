// Source texts that declare the kernels of a module.
#pragma once

#include <string>
#include <vector>

#include "compile/compiled_module.hpp"

namespace gpuexp {

/// The text of the source file, and of each file that it includes and that declares a kernel. Files
/// of the toolkit and of the host compiler are left out. A file that no longer can be read is left
/// out, too.
std::vector<std::string> kernel_sources(const CompiledModule& module);

}  // namespace gpuexp
