// Selects the code that a device runs from the architectures that a binary was compiled for. Only
// newer architectures have the instructions that some variants use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

/// Code of one architecture.
struct CompiledCode {
  int capability = 0;        ///< compute capability that it was compiled for; 80 for 8.0
  bool is_specific = false;  ///< with architecture-specific instructions: 90a, 120f
};

/// The code that the driver selects for a device of compute capability `capability` (90 for 9.0):
/// machine code of the same major and at most the same minor version, else PTX of at most that
/// capability. `architectures` is CMAKE_CUDA_ARCHITECTURES, with commas or semicolons between
/// entries ("80-real,90a-real,80-virtual", "native", "all", "all-major"). Empty if the binary has
/// no code that the device can run.
std::optional<CompiledCode> code_for(std::string_view architectures, int capability);

/// A reason if the code for that device lacks the instructions of compute capability `needed` or,
/// with `specific`, the architecture-specific instructions. Empty if it has them.
std::optional<std::string> lacks_code(std::string_view architectures, int capability, int needed,
                                      bool specific);

}  // namespace gpuexp
