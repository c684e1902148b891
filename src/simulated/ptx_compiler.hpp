// Machine code for GPUs that this binary holds PTX for alone, made as their driver would make it:
// by ptxas, that of the CUDA Toolkit here.
#pragma once

#include <map>
#include <string>

#include "simulated/cubin_kernels.hpp"

namespace gpuexp {

class PtxCompiler {
 public:
  /// For one compute capability, 80 for 8.0. `binary` is the file that holds the PTX.
  PtxCompiler(std::string binary, ToolkitTools tools, int compute_capability);

  /// The kernel of which another architecture's row is given, compiled with its module when one of
  /// its kernels is asked for first. Lives as long as this. Throws std::runtime_error: a tool is
  /// missing or fails, or there is no PTX that this GPU runs.
  const KernelResource& code_of(const KernelResource& known);

 private:
  const CubinKernels& module(const std::string& name);
  CubinKernels compile(const std::string& name);
  std::string ptx_of(const std::string& module, const std::string& folder) const;

  std::string binary_;
  ToolkitTools tools_;
  int compute_capability_;
  std::map<std::string, CubinKernels> modules_;
  std::map<std::string, std::string> failures_;  ///< of modules, why they have none
};

/// As PtxCompiler::code_of, of this program's own PTX, with the tools that it was built with or
/// that PATH has. A module is compiled once in a process; not to be called by several threads at
/// once.
const KernelResource& compiled_from_ptx(const KernelResource& known, int compute_capability);

}  // namespace gpuexp
