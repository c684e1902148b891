// Which of the code that a binary holds a device runs: a kernel may be compiled for several
// architectures, and only the newer ones have the instructions that some variants are made of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

/// Code of one architecture.
struct CompiledCode {
  int capability = 0;        ///< compute capability that it was compiled for; 80 for 8.0
  bool is_specific = false;  ///< with the instructions of that capability alone: 90a, 120f
};

/// The code that the driver picks for a device of compute capability `capability` (90 for 9.0):
/// machine code of the same major and at most the same minor version, else PTX of at most that
/// capability. `architectures` is CMAKE_CUDA_ARCHITECTURES, its entries separated by commas or
/// semicolons ("80-real,90a-real,80-virtual", "native", "all", "all-major"). Empty when it holds no
/// code that the device can run.
std::optional<CompiledCode> code_for(std::string_view architectures, int capability);

/// A reason when the code for that device lacks the instructions of compute capability `needed`,
/// or, with `specific`, those that no other capability has.
std::optional<std::string> lacks_code(std::string_view architectures, int capability, int needed,
                                      bool specific);

}  // namespace gpuexp
