// Keeps compiled modules between runs of the program, so that a second run needs no tool.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiled_module.hpp"

namespace gpuexp {

struct StoredModule {
  std::string source_hash;                  ///< as in CompiledModule
  std::vector<std::string> instantiations;  ///< as in CompiledModule
  std::vector<ModuleDependency> dependencies;
  std::filesystem::path cubin;
  ObjectDump dump;
  /// The compiler's errors. Not empty: there is no code, and all members except for the
  /// dependencies are empty.
  std::string errors;
};

/// The folder has a file for each request, which lists the files that its compilation read, and a
/// folder for each module, whose name is a hash of the request and of these files' contents.
/// Several requests may have the same module: the files of all but one of them name that one's
/// request. Read and write errors, and damaged files, count as a missing module. Modules that were
/// not read for a month are removed.
class ModuleStore {
 public:
  /// Stores nothing if `folder` is empty.
  explicit ModuleStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the module that was stored for the request, a text with the path of the source file,
  /// the options, the architecture and the tools, if the files that it depends on have the same
  /// contents as then.
  std::optional<StoredModule> find(const std::string& request) const;

  /// Copies the module's files into the store. find() returns the module for `request` and for
  /// `others`. Returns the kept cubin's path; empty if the module was not kept.
  std::filesystem::path keep(const std::string& request, const StoredModule& module,
                             const std::vector<std::string>& others = {}) const;

 private:
  std::filesystem::path index_of(const std::string& request) const;
  void remove_unused() const;

  std::filesystem::path folder_;
};

/// The SHA-256 of a regular file's contents; empty if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace gpuexp
