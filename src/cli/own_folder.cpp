#include "cli/own_folder.hpp"

#include <cstdlib>

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

// Empty where the variable is not set, or to nothing.
fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

}  // namespace

std::optional<fs::path> own_folder(const char* own, const char* shared, const char* in_home) {
  if (const fs::path folder = folder_in(own); !folder.empty()) return folder;
  if (const fs::path folder = folder_in(shared); folder.is_absolute()) return folder / "gpuexp";
  if (const fs::path home = folder_in("HOME"); !home.empty()) return home / in_home / "gpuexp";
  return std::nullopt;
}

}  // namespace gpuexp::cli
