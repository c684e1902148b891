// The CUDA Toolkit's programs, run on files.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuexp {

/// A tool is missing, or fails.
class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A folder for the tools' files, removed with what is in it.
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
  /// Tools are looked for in `folders` before PATH is.
  explicit ToolkitTools(std::vector<std::string> folders);
  /// Those that this program was built with, where it runs in its build folder; then those of
  /// CUDA_HOME, PATH and /usr/local/cuda.
  static ToolkitTools found();

  /// Of ptxas, cuobjdump or nvdisasm. Throws ToolError.
  std::string path_of(const std::string& name) const;
  /// Path, size and time of change of each of them, as text; "none" of one that is missing.
  std::string identity() const;
  /// In `folder`; what the tool, one of the above, prints goes to the file `output` there. Throws
  /// ToolError.
  void run(const std::string& tool, const std::vector<std::string>& arguments,
           const TemporaryFolder& folder, const std::string& output) const;

 private:
  std::vector<std::string> folders_;
};

/// All of it, as it is; empty where it cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace gpuexp
