// Machine code for GPUs for which this binary contains only PTX, compiled by ptxas of the installed
// CUDA Toolkit, as the driver would compile it.
#pragma once

#include <map>
#include <string>

#include "simulated/cubin_kernels.hpp"

namespace gpuexp {

class PtxCompiler {
 public:
  /// Compiles for one compute capability (80 for 8.0). `binary` is the file that contains the PTX.
  PtxCompiler(std::string binary, ToolkitTools tools, int compute_capability);

  /// The kernel, given its row for another architecture. The first request for a kernel compiles
  /// its whole module. Valid as long as this object. Throws std::runtime_error if a tool is missing
  /// or fails, or if there is no PTX that this GPU runs.
  const KernelResource& code_of(const KernelResource& known);

 private:
  const CubinKernels& module(const std::string& name);
  CubinKernels compile(const std::string& name);
  std::string ptx_of(const std::string& module, const std::string& folder) const;

  std::string binary_;
  ToolkitTools tools_;
  int compute_capability_;
  std::map<std::string, CubinKernels> modules_;
  std::map<std::string, std::string> failures_;  ///< by module, why it has no code
};

/// PtxCompiler::code_of for this program's own PTX, with the tools of the build or in PATH. A
/// module is compiled once per process. Calls from several threads are serialized.
const KernelResource& compiled_from_ptx(const KernelResource& known, int compute_capability);

}  // namespace gpuexp
