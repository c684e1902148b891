// Kernels of a cubin.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/kernel_attributes.hpp"
#include "compile/toolkit_tools.hpp"
#include "sass/compiled_kernels.hpp"
#include "sass/kernel_resource.hpp"
#include "sass/module_data.hpp"

namespace gpuexp {

/// The tools' output for the file `cubin`, compiled for `architecture` ("sm_90a"; without effect if
/// the file has kernels, whose listing names their architecture), from which
/// CubinKernels is made. `name` is used in messages; tools write to `folder`. Throws ToolError if a
/// tool is missing or fails.
ObjectDump dump_cubin(const std::string& cubin, const std::string& architecture,
                      const std::string& name, const ToolkitTools& tools,
                      const TemporaryFolder& folder, const ToolLimits& limits = {});

class CubinKernels {
 public:
  /// Parses the output of dump_cubin(). Source files below `source_root` get names relative to it;
  /// an empty root stands for this program's sources. Throws std::runtime_error if the output
  /// cannot be parsed.
  explicit CubinKernels(const ObjectDump& dump, const std::string& source_root = "");
  CubinKernels(const std::string& cubin, const std::string& architecture, const std::string& name,
               const ToolkitTools& tools, const TemporaryFolder& folder)
      : CubinKernels(dump_cubin(cubin, architecture, name, tools, folder)) {}
  CubinKernels(CubinKernels&&) = default;
  CubinKernels(const CubinKernels&) = delete;
  CubinKernels& operator=(const CubinKernels&) = delete;

  /// The kernel, without a host stub; null if the cubin lacks it. Valid while this object exists.
  const KernelResource* find(const std::string& lowered_name) const;
  const ModuleData& data() const { return *data_; }
  /// All kernels by lowered name.
  const std::map<std::string, KernelResource>& rows() const { return rows_; }
  /// Without declarations if the cubin lacks the kernel.
  const KernelAttributes& attributes(const std::string& lowered_name) const;

 private:
  std::vector<CompiledKernel> owned_;       ///< storage for rows_
  std::unique_ptr<const ModuleData> data_;  ///< its address is part of rows_
  std::map<std::string, KernelResource> rows_;
  std::map<std::string, KernelAttributes> attributes_;
};

}  // namespace gpuexp
