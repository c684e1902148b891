// What machine code says about kernels besides their instructions: parameters and limits of a
// launch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sass/loaded_kernels.hpp"

namespace gpuexp {

struct KernelAttributes {
  std::vector<std::int64_t> parameter_bytes;  ///< sizes of the parameters, in order
  BlockLimits block;
  /// Blocks of each cluster along x, y and z, as `__cluster_dims__` declares; 0: no declaration.
  std::array<std::int64_t, 3> cluster{};
};

/// The attributes of the kernels that have some, by lowered name, from `cuobjdump -elf` of one
/// cubin. Throws std::runtime_error if the list of a kernel's parameters is not complete.
std::map<std::string, KernelAttributes> kernel_attributes(std::string_view dump);

}  // namespace gpuexp
