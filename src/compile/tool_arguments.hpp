// Arguments of the tool that makes machine code of a kernel file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/compile_options.hpp"
#include "compile/kernel_input.hpp"

namespace gpuexp {

/// Throws InputError if nvcc cannot compile a file with this path.
void check_path(const std::filesystem::path& source);

/// The folder of an option -I, which is relative to the folder of the source file. Throws
/// InputError if there is no such folder or if nvcc cannot use it.
std::string include_folder(const std::string& given, const std::filesystem::path& source);

/// Arguments of nvcc or ptxas that the options and the architecture ("sm_90a") determine; none for
/// a cubin, which is used as it is. Throws InputError if the tool cannot have the options.
std::vector<std::string> tool_options(KernelFileKind kind, const CompileOptions& options,
                                      const std::filesystem::path& source,
                                      const std::string& architecture);

}  // namespace gpuexp
