// The kernels of a cubin, whoever made it: ptxas, or NVRTC.
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
  /// Of the file `cubin`, which is for `architecture` ("sm_90a"). `name` is for messages, and what
  /// the tools write goes to `folder`. Throws ToolError where a tool is missing or fails, and
  /// std::runtime_error for what they print and nobody understands.
  CubinKernels(const std::string& cubin, const std::string& architecture, const std::string& name,
               const ToolkitTools& tools, const TemporaryFolder& folder);
  CubinKernels(CubinKernels&&) = default;
  CubinKernels(const CubinKernels&) = delete;
  CubinKernels& operator=(const CubinKernels&) = delete;

  /// Null: it has no such kernel. Lives as long as this; the row has no host stub.
  const KernelResource* find(const std::string& lowered_name) const;

 private:
  std::vector<CompiledKernel> owned_;  ///< what rows refer to
  std::map<std::string, KernelResource> rows_;
};

}  // namespace gpuexp
