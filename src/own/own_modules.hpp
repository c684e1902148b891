// Machine code of one kernel file, for values of its macros and template arguments.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/once_map.hpp"
#include "compile/kernel_symbols.hpp"
#include "compile/source_compiler.hpp"
#include "own/module_groups.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::own {

/// One way to compile the file.
struct Compilation {
  std::vector<std::string> macros;  ///< "TILE=16", besides those of the options
  std::optional<Instantiation> instantiation;

  /// "sgemm<64, 32> -DTILE=16"; empty if the file is compiled as it is.
  std::string text() const;
  /// "-DTILE=16": compilations that may be made together have the same.
  std::string macro_text() const;
};

/// Several threads may call the functions. The object must be owned by a shared_ptr, which loaded
/// kernels share.
class OwnModules : public std::enable_shared_from_this<OwnModules> {
 public:
  OwnModules(std::shared_ptr<const SourceCompiler> compiler, std::filesystem::path source,
             CompileOptions options)
      : compiler_(std::move(compiler)), source_(std::move(source)), options_(std::move(options)) {}

  /// Compiles once for each compute capability. The module may have more instantiations. Throws
  /// like SourceCompiler::compile().
  const CompiledModule& module(const Compilation& compilation, int compute_capability);

  /// Compiles on all processors, instantiations with the same macros together (module_groups.hpp).
  /// Errors are left to module().
  void compile(const std::vector<Compilation>& compilations, int compute_capability);

  /// The module that was compiled first; null before.
  std::shared_ptr<const CompiledModule> any_module() const;

  /// Names and texts of the source files of all modules compiled so far, as
  /// CompiledModule::sources().
  std::map<std::string, std::string> sources() const;

  /// Absolute paths of the files of which all modules were compiled so far (user_files()).
  std::set<std::string> files() const;

  /// The instantiation's parameters. Throws like module(), and InputError if the code lacks it.
  KernelSignature instantiated(const Compilation& compilation, int compute_capability);

  /// The kernels of the module that launches name without template arguments.
  static std::vector<KernelSignature> named_kernels(const CompiledModule& module);

  /// The Shape::kernel of a kernel: of the instantiation, or of the kernel with the signature's
  /// name. Does not compile. Its code has the parameters of the signature, or is an InputError: so
  /// it is, too, if the signature has only a name.
  const void* kernel(const Compilation& compilation, const KernelSignature& signature);

 private:
  LoadedCode code(const Compilation& compilation, const KernelSignature& signature,
                  int compute_capability);
  ModuleGroups& groups_of(const Compilation& compilation, int compute_capability);

  std::shared_ptr<const SourceCompiler> compiler_;
  std::filesystem::path source_;
  CompileOptions options_;
  OnceMap<std::pair<std::string, int>, std::shared_ptr<ModuleGroups>> groups_;  ///< by macros
  OnceMap<std::pair<std::string, int>, std::shared_ptr<const CompiledModule>> modules_;
  OnceMap<std::string, const void*> kernels_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> sources_;
  std::set<std::string> files_;
  std::shared_ptr<const CompiledModule> first_;
};

}  // namespace gpuexp::own
