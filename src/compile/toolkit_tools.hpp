// Runs the CUDA Toolkit's programs.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "compile/tool_process.hpp"

namespace gpuexp {

class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A tool that ended with another exit code than 0.
class ToolFailure : public ToolError {
 public:
  using ToolError::ToolError;
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
  explicit ToolkitTools(const std::vector<std::string>& folders);
  /// Searches in the build's toolkit if this program runs in its build folder, then in CUDA_HOME,
  /// PATH and /usr/local/cuda.
  static ToolkitTools found();

  bool has(const std::string& name) const { return !find(name).empty(); }
  /// Path of nvcc, ptxas, cuobjdump or nvdisasm. Throws ToolError if the tool is missing.
  std::string path_of(const std::string& name) const;
  /// Text with the path, size and modification time of each tool; "none" for a missing tool.
  std::string identity() const;
  /// "13.0.88", from the tool's own output; "unknown" if it prints none.
  std::string version_of(const std::string& tool) const;
  /// Runs the tool in `folder`, without a shell and without input, and writes its standard output
  /// to the file `output` in that folder, and its messages to the file `kErrors`. Throws ToolError,
  /// with the beginning of the messages, if the tool is missing, fails (ToolFailure) or exceeds a
  /// limit.
  void run(const std::string& tool, const std::vector<std::string>& arguments,
           const TemporaryFolder& folder, const std::string& output,
           const ToolLimits& limits = {}) const;

  static constexpr const char* kErrors = "errors";

 private:
  std::string find(const std::string& name) const;
  std::vector<std::string> environment(const std::string& tool_path,
                                       const TemporaryFolder& folder) const;

  /// The places for messages, each once.
  std::string searched() const;

  std::vector<std::string> folders_;
  std::vector<std::string> places_;  ///< names of the searched folders for messages
};

std::string text_of_file(const std::string& path);

}  // namespace gpuexp
