// NVRTC with a precompiled header of the toolkit's headers, in a process that stays.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "compile/tool_process.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

/// A compilation by the server.
struct NvrtcJob {
  std::string source;  ///< path of a text that begins with `prefix`; empty: compile only the prefix
  std::string cubin;   ///< path of the result
  std::vector<std::string> options;
  /// Include directives and their end, "#pragma nv_hdrstop". Texts with the same prefix and options
  /// share a precompiled header.
  std::string prefix;
};

/// A child process loads NVRTC and compiles each prefix once. NVRTC keeps the result at fixed
/// addresses of that process, so the process forks a copy for each compilation, which has the
/// result at the same addresses. A copy that crashes or is killed therefore costs one compilation.
class NvrtcServer {
 public:
  /// Starts the process. It is killed with the calling thread. Call this function while no other
  /// thread of this process runs. Throws std::runtime_error.
  explicit NvrtcServer(const std::filesystem::path& library);
  ~NvrtcServer();
  NvrtcServer(const NvrtcServer&) = delete;
  NvrtcServer& operator=(const NvrtcServer&) = delete;

  /// The stand-ins of standard headers (nvrtc_headers.hpp), for the options.
  std::filesystem::path headers() const;

  /// Starts to compile the prefix for later jobs with the same options, and does not wait. Does
  /// nothing if the process has ended.
  void prepare(const std::vector<std::string>& options, const std::string& prefix) const;

  /// Like run_process() with run_nvrtc(): errors of the text are written to command.errors, and the
  /// ending is "exit code 2". The command's words are ignored. Copies of this process, and several
  /// threads, may call it. Returns "no NVRTC process" if the process has ended.
  std::string run(const NvrtcJob& job, const ToolCommand& command, const ToolLimits& limits) const;

 private:
  TemporaryFolder folder_;
  pid_t owner_ = -1;  ///< the process that started the server
  pid_t process_ = -1;
};

}  // namespace gpuexp
