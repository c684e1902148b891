// Work trees of other people's repositories, which are not part of this one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/skip.hpp"

namespace gpuexp::test {

/// The folder OWNER+NAME in GPUEXP_FOREIGN_KERNELS. Without it, the test is shown as skipped and
/// the path is empty.
inline std::filesystem::path foreign_clone(const std::string& name) {
  const char* const folder = std::getenv("GPUEXP_FOREIGN_KERNELS");
  if (!folder) {
    skip(Tier::foreign, "GPUEXP_FOREIGN_KERNELS names no folder of other people's kernels");
    return {};
  }
  const std::filesystem::path found = std::filesystem::path(folder) / name;
  if (std::filesystem::is_directory(found)) return found;
  skip(Tier::foreign, found.string() + " is no folder");
  return {};
}

}  // namespace gpuexp::test
