// Libraries of the toolkit that are loaded at run time where they exist, and done without
// elsewhere.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

/// A handle of dlopen for the first of the names that loads, or null and why. Looked for by the
/// loader itself, which knows the directories that the build found, and in the lib64 of CUDA_HOME
/// and of /usr/local/cuda. Stays loaded.
void* open_library(const std::vector<std::string>& names, std::string& reason);

}  // namespace gpuexp
