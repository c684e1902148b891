// Machine code that nvcc made of a source file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/cubin_kernels.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

/// A file that the compiler read.
struct ModuleDependency {
  std::string path;    ///< absolute
  std::string sha256;  ///< hash of the contents at the time of the compilation

  friend bool operator==(const ModuleDependency&, const ModuleDependency&) = default;
};

class CompiledModule {
 public:
  struct Parts {
    std::filesystem::path source;  ///< absolute
    std::string source_text;
    std::string architecture;
    std::string source_hash;
    std::vector<std::string> instantiations;
    std::filesystem::path cubin;
    std::vector<ModuleDependency> dependencies;
    ObjectDump dump;
    bool was_kept = false;
    std::shared_ptr<const TemporaryFolder> folder;
    bool is_by_nvrtc = false;
  };
  /// Throws std::runtime_error if the tools' output cannot be parsed.
  explicit CompiledModule(Parts parts);

  const std::filesystem::path& source() const { return parts_.source; }
  /// The text of the source file that was compiled; empty for a cubin.
  const std::string& source_text() const { return parts_.source_text; }
  /// "sm_90a".
  const std::string& architecture() const { return parts_.architecture; }
  /// SHA-256 over the contents of all files that the compiler read, the options, the architecture
  /// and the tools' versions. Equal on all machines.
  const std::string& source_hash() const { return parts_.source_hash; }
  /// SHA-256 over the source hash and the instantiations.
  std::string hash() const;
  /// SHA-256 over the source hash, `name`, such as "sgemm<64>", and the kernel's machine code. It
  /// does not depend on the other instantiations in the module.
  std::string hash_of(const std::string& name, const KernelResource& kernel) const;
  /// The cubin file; exists at least as long as this object.
  const std::filesystem::path& cubin() const { return parts_.cubin; }
  /// All files that the compiler read, the source file first.
  const std::vector<ModuleDependency>& dependencies() const { return parts_.dependencies; }
  /// Whether the module was kept from an earlier compilation.
  bool was_kept() const { return parts_.was_kept; }
  /// Whether NVRTC compiled it, and not nvcc.
  bool is_by_nvrtc() const { return parts_.is_by_nvrtc; }
  /// The kernels; source files in the folder of the source file have names relative to it.
  const CubinKernels& kernels() const { return kernels_; }
  /// The requested instantiations (Instantiation::text()).
  const std::vector<std::string>& instantiations() const { return parts_.instantiations; }
  /// The kernel of a requested instantiation; null if it was not requested or if the code lacks it.
  const KernelResource* instantiated(const std::string& instantiation) const;
  /// Lowered names of the kernels that the file has without the requests: neither the requested
  /// instantiations nor the kernels that request them.
  std::vector<std::string> names_in_file() const;
  /// The source file, and the files in its folder that it includes, with the names that the
  /// kernels' source lines have. Files that changed after the compilation are left out. Valid as
  /// long as this object. A cubin has none.
  std::vector<SourceText> sources() const;

 private:
  Parts parts_;
  CubinKernels kernels_;
  std::map<std::string, std::string> texts_;  ///< texts of sources(), by name
};

}  // namespace gpuexp
