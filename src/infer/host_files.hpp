// The files in which launches of a kernel file's kernels are sought.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "infer/host_code.hpp"

namespace gpuexp::infer {

struct HostFiles {
  std::filesystem::path file;        ///< the kernel file
  std::string text;                  ///< its text
  std::vector<std::string> kernels;  ///< names of its kernels
  /// Files with launches. Empty: if the kernel file lacks a launch, source files of its folder and
  /// of the parent folder that launch the kernel.
  std::vector<std::filesystem::path> launch_files;
};

/// The text of these files, and of the files that they include in quotes, for their constants.
/// Throws InputError if one of `launch_files` cannot be read.
HostCode host_code_of(const HostFiles& files);

}  // namespace gpuexp::infer
