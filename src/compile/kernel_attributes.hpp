// Sizes of kernel parameters in machine code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Bytes of each parameter in order, by the kernel's lowered name, from `cuobjdump -elf` of one
/// cubin. Kernels without parameters are left out. Throws std::runtime_error if the list of a
/// kernel's parameters is not complete.
std::map<std::string, std::vector<std::int64_t>> parameter_sizes(std::string_view dump);

}  // namespace gpuexp
