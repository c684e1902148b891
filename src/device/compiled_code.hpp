// Selects the code that a device runs from the architectures for which a binary was compiled. The
// instructions of some variants exist only in code for newer architectures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

struct CompiledCode {
  int capability = 0;        ///< compute capability of the code; 80 for 8.0
  bool is_specific = false;  ///< with architecture-specific instructions: 90a, 120f
};

/// The code that the driver selects for a device of compute capability `capability` (90 for 9.0):
/// machine code of the same major and at most the same minor version, otherwise PTX of at most this
/// capability. Architecture-specific code runs only on its own capability. Empty if no code of the
/// binary runs. `architectures` is CMAKE_CUDA_ARCHITECTURES, with commas or semicolons
/// ("80-real,90a-real,80-virtual", "native", "all", "all-major").
std::optional<CompiledCode> code_for(std::string_view architectures, int capability);

/// Why the device's code lacks the instructions of compute capability `needed` or, if `specific`,
/// architecture-specific instructions; empty if it has them.
std::optional<std::string> lacks_code(std::string_view architectures, int capability, int needed,
                                      bool specific);

}  // namespace gpuexp
