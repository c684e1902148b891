// Headers for NVRTC: those of the toolkit, and stand-ins for headers that NVRTC does not have or
// cannot compile.
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

/// Folders of the toolkit's headers, if they are installed: next to the NVRTC library, or in
/// CUDA_HOME or /usr/local/cuda.
std::vector<std::filesystem::path> toolkit_headers(const std::filesystem::path& library);

/// Writes all stand-ins to the folder. One of them is for CUB's header of all of CUB, if the
/// toolkit has it: it includes only the parts that kernels can use. Headers of the others have
/// functions that are marked __host__, which NVRTC refuses.
void write_stand_ins(const std::filesystem::path& folder, const std::filesystem::path& library);

}  // namespace gpuexp
