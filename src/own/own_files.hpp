// Users' kernel files that this process has loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/source_compiler.hpp"
#include "family/registry.hpp"
#include "own/declaration_sections.hpp"

namespace gpuexp::own {

class OwnFiles {
 public:
  /// Adds families to the registry, which must outlive this object.
  OwnFiles(Registry& registry, SourceCompiler compiler);
  ~OwnFiles();

  /// Files that are loaded later are first compiled for these GPUs, in order, until one succeeds
  /// (90 for compute capability 9.0). The function is called when a file is loaded. Default: 9.0.
  void compile_first_for(std::function<std::vector<int>()> compute_capabilities) {
    compute_capabilities_ = std::move(compute_capabilities);
  }

  /// Compiles the file, or the source file that a JSON file declares, and adds its family, once.
  /// The family's id is the name of the source file. Throws InputError or CompileError if the file
  /// cannot be used, DeclarationError for its declaration, ToolError without a compiler, and
  /// ConfigError if another file has the same name.
  const Family& load(const std::filesystem::path& file);

  /// Loads the file and returns a config with one experiment: all variants with the axes that the
  /// file declares. Throws like load().
  std::string config_text(const std::filesystem::path& file);

  /// The loaded file's declaration in sections: buffers, launches, checks. Throws like load().
  std::vector<DeclarationSection> sections(const std::filesystem::path& file);

  /// The functions above and the verification of loaded files, for a registry. This object must
  /// outlive them.
  KernelFiles callbacks();

  /// The folders with the machine code of loaded files, which another process can use.
  std::vector<std::filesystem::path> module_folders() const;
  /// See SourceCompiler::use_nvrtc_server().
  void use_nvrtc_server(std::filesystem::path library, std::shared_ptr<const NvrtcServer> server);
  /// Whether NVRTC compiled a loaded file.
  bool used_nvrtc() const;
  /// Uses only machine code in these folders of another process, and runs no compiler.
  void use_only_modules_of(const std::vector<std::filesystem::path>& folders);

  /// Names of the parameters of a loaded file's family that choose how a problem is computed:
  /// macros, and those that template arguments and blocks use.
  std::set<std::string> tuning_parameters(const Family& family) const;

  /// The name of a buffer's element, such as "y[1][12]".
  std::string element_name(const Family& family, const Values& values, const std::string& buffer,
                           std::int64_t element) const;

  /// Absolute paths, in the order of loading.
  std::vector<std::string> paths() const;

  /// The absolute path and the text of each file: the compiled source file, the files in its folder
  /// that it includes, and its declaration in JSON.
  std::map<std::string, std::string> sources() const;

  /// Absolute paths of all files on which loaded files depend, without those of the toolkit and the
  /// host compiler.
  std::vector<std::string> files_read() const;

  /// Absolute paths of files without source text on which results depend: .npy files, cubins and
  /// Triton's metadata.
  std::vector<std::string> other_inputs() const;

 private:
  struct File;
  File& loaded(const std::filesystem::path& file);
  const File& of(const Family& family) const;
  std::vector<std::string> unused_parameters(const Family& family, const Variant& variant) const;
  ExactVerification exact_verification(const Family& family, const Values& values) const;
  std::string check_error(const Family& family, const Values& values, std::uint64_t seed,
                          const std::string& output, std::int64_t element) const;

  Registry& registry_;
  std::shared_ptr<SourceCompiler> compiler_;
  std::function<std::vector<int>()> compute_capabilities_ = [] { return std::vector<int>{90}; };
  std::list<File> files_;
};

}  // namespace gpuexp::own
