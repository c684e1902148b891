// Stand-ins for the standard headers, which NVRTC does not have.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace gpuexp {

struct StandInHeader {
  std::string_view name;  ///< "cstdint", "sys/time.h"
  std::string_view text;  ///< what device code can use of it; empty for headers of host code
};

/// All stand-ins. They declare what kernels commonly use: types and limits of numbers, printf,
/// assert, min, max, swap, mathematical functions, type traits.
const std::vector<StandInHeader>& stand_in_headers();

/// Writes all stand-ins to the folder.
void write_stand_ins(const std::filesystem::path& folder);

}  // namespace gpuexp
