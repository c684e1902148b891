// Machine code for GPUs for which the program contains only PTX. The installed toolkit's ptxas
// compiles the PTX, as the driver would.
#pragma once

#include <map>
#include <string>

#include "compile/cubin_kernels.hpp"

namespace gpuexp {

class PtxCompiler {
 public:
  /// Compiles for one compute capability (80 for 8.0). `binary` is the file that contains the PTX.
  PtxCompiler(std::string binary, ToolkitTools tools, int compute_capability);

  /// Returns the kernel, given its row for another architecture; compiles its whole module on the
  /// first request. Valid while this object exists. Throws ToolError if a tool is missing or
  /// fails, and std::runtime_error if the binary has no PTX that this GPU runs.
  const KernelResource& code_of(const KernelResource& known);

 private:
  const CubinKernels& module(const std::string& name);
  CubinKernels compile(const std::string& name);
  std::string ptx_of(const std::string& module, const std::string& folder) const;

  std::string binary_;
  ToolkitTools tools_;
  int compute_capability_;
  std::map<std::string, CubinKernels> modules_;
  struct Failure {
    std::string why;
    bool is_of_tool = false;
  };
  std::map<std::string, Failure> failures_;  ///< by module that has no code
};

/// PtxCompiler::code_of for this program's own PTX, with the tools of ToolkitTools::found().
/// Compiles a module once per process. Serializes calls from several threads.
const KernelResource& compiled_from_ptx(const KernelResource& known, int compute_capability);

}  // namespace gpuexp
