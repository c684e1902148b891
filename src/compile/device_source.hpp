// The device code of a CUDA C++ file, for a compiler that accepts nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// The text with blanks instead of the host code at namespace scope: functions without __global__,
/// __device__ or constexpr, and variables that are neither of the device nor const. Lines,
/// directives and columns stay as they are. Members of classes are kept. This is a heuristic:
/// macros that open or close a scope mislead it.
std::string device_source(std::string_view source);

struct IncludeDirective {
  std::string name;        ///< "cub/cub.cuh"
  bool is_quoted = false;  ///< "name", not <name>
};
/// The include directives of the text, in order. Those in inactive branches of #if are included.
std::vector<IncludeDirective> include_directives(std::string_view source);

}  // namespace gpuexp
