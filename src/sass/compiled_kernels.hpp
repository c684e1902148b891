// Kernels of one compiled object, parsed from the output of the binary tools.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace gpuexp {

/// Output of the tools for one object file or cubin.
struct ObjectDump {
  std::string name;            ///< for messages
  std::string symbols;         ///< `nm --defined-only --extern-only`
  std::string resource_usage;  ///< `cuobjdump --dump-resource-usage`
  std::string sass;            ///< `cuobjdump -sass`; empty: instructions are unknown
  std::string elf;  ///< `cuobjdump -elf`; empty: lines, constants and call targets are unknown
};

/// One kernel on one architecture; members as in KernelResource.
struct CompiledKernel {
  std::string lowered_name;
  std::string architecture;
  int registers = 0;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int stack_bytes = 0;
  bool launches_kernels = false;
  std::string instructions;  ///< counts by kind, as in KernelResource::instructions
  std::string code;          ///< text for read_code_text()
  std::set<std::string> source_files;

  /// 90 for sm_90a.
  int compute_capability() const;
};

/// Parses the kernels, in the order of the tools' output. Source files below `source_root` get
/// names relative to it. Throws std::runtime_error for unexpected output.
std::vector<CompiledKernel> read_kernels(const ObjectDump& object, const std::string& source_root);

}  // namespace gpuexp
