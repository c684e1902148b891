// Names of C++ functions in compiled code.
#pragma once

#include <string>

namespace gpuexp {

/// The declaration that a lowered (mangled) name stands for: "void add<float>(float const*, int)"
/// for "_Z3addIfEvPKT_i". Other names are returned unchanged, such as those of extern "C" kernels.
std::string demangled_name(const std::string& lowered_name);

}  // namespace gpuexp
