#include "compile/kernel_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "compile/toolkit_tools.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

/// Folders with files that are not the user's. nvcc includes cuda_runtime.h in each source file.
std::vector<std::string> system_folders(const std::vector<ModuleDependency>& files) {
  std::vector<std::string> folders{"/usr/include/", "/usr/lib/"};
  for (const ModuleDependency& file : files) {
    const fs::path path(file.path);
    if (path.filename() == "cuda_runtime.h")
      folders.push_back((path.parent_path().lexically_normal() / "").string());
  }
  return folders;
}

}  // namespace

std::vector<std::string> user_files(const CompiledModule& module) {
  const std::vector<std::string> system = system_folders(module.dependencies());
  std::vector<std::string> files;
  for (const ModuleDependency& file : module.dependencies()) {
    std::string path = fs::path(file.path).lexically_normal().string();
    const bool is_system = std::ranges::any_of(
        system, [&](const std::string& folder) { return path.starts_with(folder); });
    if (!is_system) files.push_back(std::move(path));
  }
  return files;
}

std::vector<std::string> kernel_sources(const CompiledModule& module) {
  std::vector<std::string> sources{module.source_text()};
  for (const std::string& file : user_files(module)) {
    if (file == module.source()) continue;
    std::string text = text_of_file(file);
    if (text.find("__global__") != std::string::npos) sources.push_back(std::move(text));
  }
  return sources;
}

}  // namespace gpuexp
