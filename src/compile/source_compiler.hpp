// Machine code of a CUDA source file, made by the installed toolkit's nvcc.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "compile/compile_options.hpp"
#include "compile/compiled_module.hpp"
#include "compile/module_store.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

/// A source file that nvcc does not accept. The message has nvcc's errors with file and line.
class CompileError : public InputError {
 public:
  using InputError::InputError;
};

/// The most specific architecture of a compute capability: "sm_90a" for 90, "sm_80" for 80. Since
/// 9.0, some instructions exist only for the architectures with the suffix.
std::string architecture_for(int compute_capability);

class SourceCompiler {
 public:
  /// Keeps modules in the folder `kept_in`, or nowhere if it is empty. The limits are those of one
  /// call of a tool.
  SourceCompiler(ToolkitTools tools, std::filesystem::path kept_in, const ToolLimits& limits = {});

  /// Compiles the file for one compute capability (90 for 9.0), or returns the module that was kept
  /// for the same contents, options and tools. Host code is not compiled, and nothing of the file
  /// is executed. Several threads may call it. Throws InputError if the source file cannot be used,
  /// CompileError if nvcc reports errors, ToolError if a tool is missing or fails, and
  /// std::runtime_error if the tools' output cannot be parsed.
  std::shared_ptr<const CompiledModule> compile(const std::filesystem::path& source,
                                                const CompileOptions& options,
                                                int compute_capability) const;

 private:
  struct Job;
  CompiledModule::Parts compiled(Job& job) const;
  std::vector<ModuleDependency> run_nvcc(const Job& job, const TemporaryFolder& folder) const;
  ObjectDump dump(const Job& job, const TemporaryFolder& folder) const;
  std::string hash_of(const Job& job, const std::vector<ModuleDependency>& files) const;

  ToolkitTools tools_;
  ModuleStore store_;
  ToolLimits limits_;
};

}  // namespace gpuexp
