// The part of a CUDA C++ file that is the same in all its versions: headers of large libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuexp {

/// Include directives of the files that name headers of the toolkit's C++ libraries (CUB, Thrust,
/// libcu++, cooperative groups), which take most of the time of a compilation, and then the pragma
/// that ends a precompiled header of NVRTC. Empty if there is no such directive. Directives after a
/// #define or a condition are left out, because a header may depend on it; include guards do not
/// count.
std::string precompiled_prefix(const std::vector<std::filesystem::path>& files);

}  // namespace gpuexp
