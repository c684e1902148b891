// The kernels of one compiled object, read out of what the binary tools print of it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace gpuexp {

/// What the tools print of one object file, or of a cubin.
struct ObjectDump {
  std::string name;            ///< for messages
  std::string symbols;         ///< `nm --defined-only --extern-only`
  std::string resource_usage;  ///< `cuobjdump --dump-resource-usage`
  std::string sass;            ///< `cuobjdump -sass`; empty: instructions stay unknown
  std::string elf;             ///< `cuobjdump -elf`; likewise
};

/// One kernel on one architecture: the figures of KernelResource.
struct CompiledKernel {
  std::string lowered_name;
  std::string architecture;  ///< sm_90a
  int registers = 0;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int stack_bytes = 0;
  bool launches_kernels = false;
  std::string instructions;            ///< by kind, as KernelResource::instructions
  std::string code;                    ///< as read_code_text() reads it
  std::set<std::string> source_files;  ///< that its code's lines are in

  /// 90 of sm_90a.
  int compute_capability() const;
};

/// In the order of the tools. Source files below `source_root` are named from there. Throws
/// std::runtime_error where a tool printed something else than expected.
std::vector<CompiledKernel> read_kernels(const ObjectDump& object, const std::string& source_root);

}  // namespace gpuexp
