// The compiler of kernel files.
#pragma once

#include "compile/source_compiler.hpp"

namespace gpuexp::cli {

/// Keeps modules in the program's cache folder.
SourceCompiler kernel_compiler();

}  // namespace gpuexp::cli
