// The user's files among those that a module was compiled from.
#pragma once

#include <string>
#include <vector>

#include "compile/compiled_module.hpp"

namespace gpuexp {

/// Absolute paths of the files that the compiler read, the source file first. Files of the toolkit
/// and of the host compiler are left out.
std::vector<std::string> user_files(const CompiledModule& module);

/// The text of the source file, and of each file that it includes and that declares a kernel. Files
/// of the toolkit and of the host compiler are left out. A file that no longer can be read is left
/// out, too.
std::vector<std::string> kernel_sources(const CompiledModule& module);

}  // namespace gpuexp
