// Kernels of a cubin from ptxas or NVRTC.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sass/compiled_kernels.hpp"
#include "sass/kernel_resource.hpp"
#include "simulated/toolkit_tools.hpp"

namespace gpuexp {

class CubinKernels {
 public:
  /// Reads the file `cubin`, compiled for `architecture` ("sm_90a"). `name` is used in messages;
  /// tools write to `folder`. Throws ToolError if a tool is missing or fails, and
  /// std::runtime_error if its output cannot be parsed.
  CubinKernels(const std::string& cubin, const std::string& architecture, const std::string& name,
               const ToolkitTools& tools, const TemporaryFolder& folder);
  CubinKernels(CubinKernels&&) = default;
  CubinKernels(const CubinKernels&) = delete;
  CubinKernels& operator=(const CubinKernels&) = delete;

  /// The kernel, without a host stub; null if the cubin lacks it. Valid while this object exists.
  const KernelResource* find(const std::string& lowered_name) const;

 private:
  std::vector<CompiledKernel> owned_;  ///< storage for rows_
  std::map<std::string, KernelResource> rows_;
};

}  // namespace gpuexp
