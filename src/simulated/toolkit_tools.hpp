// Runs the CUDA Toolkit's programs.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuexp {

class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A temporary folder for the tools' files. The destructor deletes it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class ToolkitTools {
 public:
  /// Searches for tools in `folders`, then in PATH.
  explicit ToolkitTools(std::vector<std::string> folders);
  /// Searches in the build's toolkit if this program runs in its build folder, then in CUDA_HOME,
  /// PATH and /usr/local/cuda.
  static ToolkitTools found();

  /// Path of ptxas, cuobjdump or nvdisasm. Throws ToolError if the tool is missing.
  std::string path_of(const std::string& name) const;
  /// Text with the path, size and modification time of each tool; "none" for a missing tool.
  std::string identity() const;
  /// Runs the tool in `folder` and writes its standard output to the file `output` in that folder.
  /// Throws ToolError.
  void run(const std::string& tool, const std::vector<std::string>& arguments,
           const TemporaryFolder& folder, const std::string& output) const;

 private:
  std::vector<std::string> folders_;
};

std::string text_of_file(const std::string& path);

}  // namespace gpuexp
