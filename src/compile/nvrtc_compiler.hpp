// Machine code of a CUDA C++ file from NVRTC, where nvcc is not installed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compile/compile_options.hpp"
#include "compile/instantiation.hpp"
#include "compile/nvrtc_server.hpp"
#include "compile/tool_process.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

inline constexpr const char* kNvrtcCommand = "nvrtc-compile";

/// NVRTC, in a child process: `program` gets the arguments kNvrtcCommand, the paths of the library,
/// of the source and of the cubin, and NVRTC's options, with which it calls run_nvrtc(). It prints
/// the errors to standard error and ends with exit code 2 if there are any.
struct NvrtcProcess {
  std::string program;
  std::filesystem::path library;  ///< libnvrtc.so.13
  /// Runs NVRTC instead of `program`, with a precompiled header; null: `program` does.
  std::shared_ptr<const NvrtcServer> server = nullptr;
};

struct NvrtcSource {
  std::filesystem::path file;  ///< an absolute path
  CompileOptions options;
  std::vector<Instantiation> instantiations;
};

/// Compiles the file for the architecture ("sm_90a") in a child process, and writes `cubin` to the
/// folder. The compiler reads copies of the file, and of the files that it includes outside of the
/// toolkit, without host code. Returns the paths of these files, the source file first. Throws
/// CompileError if NVRTC reports errors, and ToolError if it fails otherwise.
std::vector<std::string> compile_with_nvrtc(const NvrtcProcess& nvrtc, const NvrtcSource& source,
                                            const std::string& architecture,
                                            const TemporaryFolder& folder, const std::string& cubin,
                                            const ToolLimits& limits);

/// Starts to compile the precompiled header of a later call of compile_with_nvrtc() with these
/// arguments, in the server, and does not wait.
void prepare_nvrtc(const NvrtcProcess& nvrtc, const std::filesystem::path& source,
                   const CompileOptions& options, const std::string& architecture);

}  // namespace gpuexp
