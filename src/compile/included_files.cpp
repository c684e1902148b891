#include "compile/included_files.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include "compile/device_source.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIncludedFiles = 1000;

std::optional<fs::path> included_file(const IncludeDirective& directive, const fs::path& beside,
                                      const std::vector<fs::path>& include_folders) {
  std::vector<fs::path> folders = include_folders;
  if (directive.is_quoted) folders.insert(folders.begin(), beside);
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::path file = (folder / directive.name).lexically_normal();
    if (fs::is_regular_file(file, error)) return file;
  }
  return std::nullopt;
}

void add_included(const fs::path& file, const std::vector<fs::path>& include_folders,
                  std::vector<fs::path>& files) {
  if (std::ranges::find(files, file) != files.end() || files.size() >= kMaxIncludedFiles) return;
  files.push_back(file);
  for (const IncludeDirective& directive : include_directives(text_of_file(file.string()))) {
    const auto included = included_file(directive, file.parent_path(), include_folders);
    if (included) add_included(*included, include_folders, files);
  }
}

}  // namespace

std::vector<fs::path> included_files(const fs::path& file,
                                     const std::vector<fs::path>& include_folders) {
  std::vector<fs::path> files;
  add_included(fs::absolute(file).lexically_normal(), include_folders, files);
  return files;
}

}  // namespace gpuexp
