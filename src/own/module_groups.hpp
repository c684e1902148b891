// Which instantiations of a kernel file are compiled together.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/source_compiler.hpp"

namespace gpuexp::own {

/// Modules of one file for one set of options and one compute capability. Each compilation reads
/// the whole file, so instantiations that are expected together have one module, which also has the
/// kernels that are not templates. If that compilation fails, the instantiations that its errors
/// name, or else all, are compiled by themselves, so that an error in one does not affect others.
/// Several threads may call the functions.
class ModuleGroups {
 public:
  ModuleGroups(std::shared_ptr<const SourceCompiler> compiler, std::filesystem::path source,
               CompileOptions options, int compute_capability)
      : compiler_(std::move(compiler)),
        source_(std::move(source)),
        options_(std::move(options)),
        compute_capability_(compute_capability) {}

  /// Announces a call of module(). Does not compile. Without an instantiation, announces the
  /// kernels that are not templates and those that the file itself instantiates.
  void expect(const std::optional<Instantiation>& instantiation);

  /// A module with the instantiation, and maybe others. Throws like SourceCompiler::compile(). The
  /// instantiations that were announced before the first of these calls are compiled together, in
  /// groups of at most 8.
  std::shared_ptr<const CompiledModule> module(const std::optional<Instantiation>& instantiation);

  /// An address that is equal for announced instantiations that are compiled together.
  const void* group_of(const std::optional<Instantiation>& instantiation);

 private:
  struct Group {
    std::vector<Instantiation> instantiations;
    bool has_file_kernels = false;
    std::once_flag compiled;
    std::vector<std::shared_ptr<const CompiledModule>> modules;
  };
  std::shared_ptr<Group> find(const std::optional<Instantiation>& instantiation);
  void form_groups();
  void compile(Group& group) const;
  void compile_together(Group& group, std::vector<Instantiation> missing) const;

  std::shared_ptr<const SourceCompiler> compiler_;
  std::filesystem::path source_;
  CompileOptions options_;
  int compute_capability_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Group>> groups_;  ///< by text; null: not formed yet
  std::vector<Instantiation> expected_;                   ///< without a group, in order
  bool expects_file_kernels_ = false;
};

}  // namespace gpuexp::own
