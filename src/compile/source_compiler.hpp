// Machine code of a kernel file, made by the installed toolkit's programs.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/compile_error.hpp"
#include "compile/compile_options.hpp"
#include "compile/compiled_module.hpp"
#include "compile/instantiation.hpp"
#include "compile/kernel_input.hpp"
#include "compile/module_store.hpp"
#include "compile/nvrtc_compiler.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

class SourceCompiler {
 public:
  /// Keeps modules in the folder `kept_in`, or in a temporary folder where that cannot be written;
  /// nowhere if it is empty. The limits are those of one call of a tool.
  SourceCompiler(ToolkitTools tools, std::filesystem::path kept_in, const ToolLimits& limits = {});

  /// Makes machine code of the file for one compute capability (90 for 9.0), or returns the module
  /// that was kept for the same contents, options and tools; nvcc's errors are kept, too. nvcc or
  /// NVRTC compiles CUDA C++, ptxas assembles a .ptx file, and a .cubin is used as it is. The
  /// module has the file's kernels, and the instantiations. Host code is not compiled, and nothing
  /// of the file is executed. Several threads may call it. Throws InputError if the file cannot be
  /// used or has no code for the compute capability, CompileError if the compiler reports errors,
  /// ToolError if a tool is missing or fails, and std::runtime_error if the tools' output cannot be
  /// parsed.
  std::shared_ptr<const CompiledModule> compile(
      const std::filesystem::path& source, const CompileOptions& options, int compute_capability,
      const std::vector<Instantiation>& instantiations = {}) const;

  /// Like compile(), but a kept module with more instantiations serves, too, if there is at most
  /// one instantiation. Keeps the module for later calls that request one or none of the
  /// instantiations.
  std::shared_ptr<const CompiledModule> compile_with(
      const std::filesystem::path& source, const CompileOptions& options, int compute_capability,
      const std::vector<Instantiation>& instantiations) const;

  /// The module that compile_with() would return without a tool; null if there is none. Throws
  /// CompileError with the kept errors if there are only those, and like compile() if the file
  /// cannot be used.
  std::shared_ptr<const CompiledModule> kept_with(
      const std::filesystem::path& source, const CompileOptions& options, int compute_capability,
      const std::optional<Instantiation>& instantiation) const;

  /// Where nvcc is missing, CUDA C++ is compiled by NVRTC, if that is installed, in a child process
  /// `program` (see NvrtcProcess).
  void use_nvrtc(std::string program) { nvrtc_program_ = std::move(program); }

  /// From now on, the server compiles CUDA C++ that includes large libraries of the toolkit
  /// (precompiled_prefix.hpp), except for instantiations. nvcc, if it is installed, compiles what
  /// the server cannot. The machine code of NVRTC may differ from that of nvcc.
  void use_nvrtc_server(std::filesystem::path library, std::shared_ptr<const NvrtcServer> server) {
    server_ = {"", std::move(library), std::move(server)};
  }

  /// The folders in which modules are or will be kept. The temporary one exists as long as this
  /// object.
  std::vector<std::filesystem::path> module_folders() const;

  /// From now on modules are only found, in these folders of another process. compile() throws
  /// InputError where it would have to run a tool.
  void use_only_modules_of(const std::vector<std::filesystem::path>& folders);

 private:
  struct Job;
  std::optional<NvrtcProcess> nvrtc_for(const Job& job) const;
  std::optional<NvrtcProcess> nvrtc_process() const;
  Job job_for(const std::filesystem::path& source, const CompileOptions& options,
              int compute_capability, const std::vector<Instantiation>& instantiations) const;
  static void check_instantiation(const Job& job);
  std::string request_for(const Job& job, const std::string& instantiations) const;
  std::shared_ptr<const CompiledModule> compile(Job& job) const;
  std::shared_ptr<const CompiledModule> kept_module(Job& job) const;
  std::shared_ptr<const CompiledModule> module_of(Job& job) const;
  /// Null if `nvrtc` is empty or does not compile the file.
  std::shared_ptr<const CompiledModule> module_of_nvrtc(
      Job job, const std::optional<NvrtcProcess>& nvrtc) const;
  std::optional<StoredModule> find(const Job& job) const;
  void keep(const Job& job, CompiledModule::Parts& parts) const;
  CompiledModule::Parts compiled(Job& job) const;
  std::vector<ModuleDependency> make_cubin(const Job& job, const TemporaryFolder& folder) const;
  std::vector<ModuleDependency> run_nvrtc(const Job& job, const TemporaryFolder& folder) const;
  std::vector<ModuleDependency> run_nvcc(const Job& job, const TemporaryFolder& folder) const;
  static std::string compiled_file(const Job& job, const TemporaryFolder& folder);
  static std::vector<ModuleDependency> files_read(const Job& job, const TemporaryFolder& folder);
  void keep_errors(const Job& job, const TemporaryFolder& folder, const std::string& errors) const;
  [[noreturn]] static void fail(const Job& job, const std::string& errors);
  ObjectDump dump(const Job& job, const TemporaryFolder& folder) const;
  std::string source_hash_of(const Job& job, const std::vector<ModuleDependency>& files) const;

  /// A folder of this process for modules that cannot be kept elsewhere.
  class PrivateFolder {
   public:
    /// Makes the folder if it is missing and `make` is set; otherwise null.
    std::shared_ptr<const TemporaryFolder> get(bool make);

   private:
    std::mutex mutex_;
    std::shared_ptr<const TemporaryFolder> folder_;
  };

  ToolkitTools tools_;
  std::string nvrtc_program_;  ///< empty: NVRTC is not used
  NvrtcProcess server_;        ///< without a server: not used
  std::filesystem::path kept_in_;
  std::shared_ptr<PrivateFolder> private_ = std::make_shared<PrivateFolder>();
  std::optional<std::vector<std::filesystem::path>> only_in_;
  ToolLimits limits_;
};

}  // namespace gpuexp
