// Machine code of a CUDA C++ file from NVRTC, where nvcc is not installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/compile_options.hpp"
#include "compile/instantiation.hpp"
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

/// What the child process does: compiles `source` with the library, and writes the cubin. Returns
/// NVRTC's errors; empty if there are none. Throws std::runtime_error if NVRTC fails otherwise.
std::string run_nvrtc(const std::filesystem::path& library, const std::filesystem::path& source,
                      const std::filesystem::path& cubin, const std::vector<std::string>& options);

}  // namespace gpuexp
