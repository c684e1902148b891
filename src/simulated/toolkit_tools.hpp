// Runs the CUDA Toolkit's programs on files.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuexp {

/// A tool is missing or failed.
class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A temporary folder for the tools' files; the destructor removes it with its contents.
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
  /// The tools of the build, if this program runs in its build folder, then those of CUDA_HOME,
  /// PATH and /usr/local/cuda.
  static ToolkitTools found();

  /// Path of ptxas, cuobjdump or nvdisasm. Throws ToolError.
  std::string path_of(const std::string& name) const;
  /// Path, size and modification time of each tool, as text; "none" for a missing tool.
  std::string identity() const;
  /// Runs the tool in `folder` and writes its standard output to the file `output` there. Throws
  /// ToolError.
  void run(const std::string& tool, const std::vector<std::string>& arguments,
           const TemporaryFolder& folder, const std::string& output) const;

 private:
  std::vector<std::string> folders_;
};

/// The contents of the file; empty if it cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace gpuexp
