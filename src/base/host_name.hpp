// The name of this machine.
#pragma once

#include <string>

namespace gpuexp {

/// The result of gethostname(); "unknown" if it fails.
std::string host_name();

}  // namespace gpuexp
