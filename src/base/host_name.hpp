// What this machine is called.
#pragma once

#include <string>

namespace gpuexp {

/// As the kernel has it; "unknown" where it does not say.
std::string host_name();

}  // namespace gpuexp
