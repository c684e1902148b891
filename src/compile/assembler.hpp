// Machine code of a PTX file, made by the installed toolkit's ptxas.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/compile_options.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

/// Arguments of ptxas that the options and the architecture ("sm_90a") determine. The only
/// option of ptxas is -maxrregcount; throws InputError for others.
std::vector<std::string> ptxas_options(const CompileOptions& options,
                                       const std::filesystem::path& ptx,
                                       const std::string& architecture);

/// Assembles the file with these arguments, and writes `cubin` to the folder. Throws CompileError
/// if ptxas reports errors, with both versions if the PTX is newer than ptxas, and ToolError if
/// ptxas is missing or fails otherwise.
void assemble(const std::filesystem::path& ptx, const std::vector<std::string>& options,
              const ToolkitTools& tools, const TemporaryFolder& folder, const std::string& cubin,
              const ToolLimits& limits);

}  // namespace gpuexp
