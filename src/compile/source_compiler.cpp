#include "compile/source_compiler.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "compile/assembler.hpp"
#include "compile/included_files.hpp"
#include "compile/kernel_input.hpp"
#include "compile/nvcc_text.hpp"
#include "compile/nvrtc.hpp"
#include "compile/precompiled_prefix.hpp"
#include "compile/tool_arguments.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCubinName = "module.cubin";
constexpr const char* kRule = "dependencies";

// The host compiler is that of PATH, whose headers are among the module's dependencies.
std::string request_text(const fs::path& source, const std::vector<std::string>& options,
                         const std::string& instantiation, const ToolkitTools& tools) {
  const char* const host_compiler = std::getenv("NVCC_CCBIN");
  return fmt::format("module 3; {}; {}; {}; {}{}", source.string(), fmt::join(options, " "),
                     instantiation, host_compiler ? host_compiler : "", tools.identity());
}

// Replaces the instantiations in a request: for a module with this one, and maybe others.
std::string part_of_module(const std::string& instantiation) {
  return "at least " + instantiation;
}

// Releases of the library differ in name or size.
std::string library_text(const std::optional<NvrtcProcess>& nvrtc) {
  if (!nvrtc) return "";
  std::error_code error;
  return fmt::format("; {} {}", nvrtc->library.filename().string(),
                     fs::file_size(nvrtc->library, error));
}

// Whether the compiler read the files as they are now.
bool is_as_read(const std::vector<ModuleDependency>& files, const std::string& source_text,
                fs::file_time_type started) {
  if (files[0].sha256 != sha256(source_text)) return false;
  return std::all_of(files.begin(), files.end(), [&](const ModuleDependency& file) {
    std::error_code error;
    return fs::last_write_time(file.path, error) <= started && !error;
  });
}

// What the user can do about an error whose text does not say it; empty for other errors.
std::string advice_on(const std::string& errors) {
  const auto has = [&](const char* text) { return errors.find(text) != std::string::npos; };
  if (has("requires separate compilation mode"))
    return "\nkernels that launch kernels are not supported: declare the launches as steps of a "
           "variant, 'NAME = KERNEL<<<GRID, BLOCK>>>; KERNEL<<<GRID, BLOCK>>>'";
  if (has(": No such file or directory"))
    return "\na header is sought in the folder of the file that includes it, in the toolkit, and "
           "in "
           "folders that the file declares: '// gpuexp: option -IFOLDER'";
  return "";
}

}  // namespace

struct SourceCompiler::Job {
  fs::path source;
  KernelFileKind kind = KernelFileKind::source;
  std::string text;
  std::string architecture;
  CompileOptions options;
  std::vector<Instantiation> instantiations;
  std::vector<std::string> words;     ///< arguments of nvcc or ptxas
  std::optional<NvrtcProcess> nvrtc;  ///< the compiler, if it is not nvcc
  std::string request;                ///< key of ModuleStore
  fs::file_time_type started;         ///< time before the compiler read the files
  bool may_have_more = false;         ///< whether a module with more instantiations serves, too

  /// Empty for a cubin.
  std::string source_text() const { return kind == KernelFileKind::cubin ? "" : text; }
  std::string instantiation_text() const {
    return fmt::format("{}", fmt::join(instantiation_texts(), ", "));
  }
  std::vector<std::string> instantiation_texts() const {
    std::vector<std::string> all;
    for (const Instantiation& instantiation : instantiations)
      all.push_back(instantiation.text());
    return all;
  }
};

void SourceCompiler::check_instantiation(const Job& job) {
  if (job.instantiations.empty()) return;
  if (job.kind != KernelFileKind::source)
    throw InputError(
        fmt::format("{}: machine code and PTX have no templates; launch {} without "
                    "template arguments",
                    job.source.string(), job.instantiation_text()));
}

SourceCompiler::SourceCompiler(ToolkitTools tools, fs::path kept_in, const ToolLimits& limits)
    : tools_(std::move(tools)), kept_in_(std::move(kept_in)), limits_(limits) {}

std::shared_ptr<const TemporaryFolder> SourceCompiler::PrivateFolder::get(bool make) {
  const std::lock_guard lock(mutex_);
  if (!folder_ && make) folder_ = std::make_shared<const TemporaryFolder>();
  return folder_;
}

std::vector<fs::path> SourceCompiler::module_folders() const {
  return kept_in_.empty() ? std::vector<fs::path>()
                          : std::vector<fs::path>{kept_in_, private_->get(true)->path()};
}

void SourceCompiler::use_only_modules_of(const std::vector<fs::path>& folders) {
  only_in_ = folders;
}

std::string SourceCompiler::request_for(const Job& job, const std::string& instantiations) const {
  return request_text(job.source, job.words, instantiations, tools_) + library_text(job.nvrtc);
}

std::optional<StoredModule> SourceCompiler::find(const Job& job) const {
  std::vector<fs::path> folders = only_in_.value_or(std::vector<fs::path>{kept_in_});
  if (const auto folder = private_->get(false); folder && !only_in_)
    folders.emplace_back(folder->path());
  std::vector<std::string> requests{job.request};
  if (job.may_have_more && job.instantiations.size() < 2)
    requests.push_back(request_for(job, part_of_module(job.instantiation_text())));
  for (const fs::path& folder : folders) {
    for (const std::string& request : requests) {
      std::optional<StoredModule> kept = ModuleStore(folder).find(request);
      if (kept && kept->dependencies[0].sha256 == sha256(job.text)) return kept;
    }
  }
  return std::nullopt;
}

void SourceCompiler::keep(const Job& job, CompiledModule::Parts& parts) const {
  if (kept_in_.empty()) return;
  std::vector<std::string> others;
  if (job.may_have_more) {
    others.push_back(request_for(job, part_of_module("")));
    for (const std::string& text : parts.instantiations)
      others.push_back(request_for(job, part_of_module(text)));
  }
  const StoredModule module{parts.source_hash, parts.instantiations, parts.dependencies,
                            parts.cubin,       parts.dump,           ""};
  fs::path kept = ModuleStore(kept_in_).keep(job.request, module, others);
  std::shared_ptr<const TemporaryFolder> folder;
  if (kept.empty()) {
    folder = private_->get(true);
    kept = ModuleStore(folder->path()).keep(job.request, module, others);
  }
  if (kept.empty()) return;
  parts.cubin = kept;
  parts.folder = folder;
}

std::optional<NvrtcProcess> SourceCompiler::nvrtc_for(const Job& job) const {
  if (job.kind != KernelFileKind::source) return std::nullopt;
  const auto is_large = [&] {
    std::vector<fs::path> folders;
    for (const std::string& folder : job.options.include_folders)
      folders.push_back(include_folder(folder, job.source));
    return !precompiled_prefix(included_files(job.source, folders)).empty();
  };
  if (server_.server && job.instantiations.empty() && is_large()) return server_;
  return tools_.has("nvcc") ? std::nullopt : nvrtc_process();
}

std::optional<NvrtcProcess> SourceCompiler::nvrtc_process() const {
  if (nvrtc_program_.empty()) return std::nullopt;
  const auto library = find_nvrtc();
  return library ? std::optional(NvrtcProcess{nvrtc_program_, *library}) : std::nullopt;
}

SourceCompiler::Job SourceCompiler::job_for(
    const fs::path& source, const CompileOptions& options, int compute_capability,
    const std::vector<Instantiation>& instantiations) const {
  Job job;
  job.source = fs::absolute(source).lexically_normal();
  job.kind = kind_of(job.source);
  job.text = read_kernel_input(job.source);
  check_path(job.source);
  const std::string refusal = code_target(job.source, job.text).refusal(compute_capability);
  if (!refusal.empty()) throw InputError(fmt::format("{}: {}", job.source.string(), refusal));
  job.architecture = architecture_for(compute_capability);
  job.options = options;
  job.instantiations = instantiations;
  job.words = tool_options(job.kind, options, job.source, job.architecture);
  job.nvrtc = nvrtc_for(job);
  return job;
}

std::shared_ptr<const CompiledModule> SourceCompiler::compile(
    const fs::path& source, const CompileOptions& options, int compute_capability,
    const std::vector<Instantiation>& instantiations) const {
  Job job = job_for(source, options, compute_capability, instantiations);
  return compile(job);
}

std::shared_ptr<const CompiledModule> SourceCompiler::compile_with(
    const fs::path& source, const CompileOptions& options, int compute_capability,
    const std::vector<Instantiation>& instantiations) const {
  if (instantiations.size() < 2) {
    const auto wanted = instantiations.empty() ? std::nullopt : std::optional(instantiations[0]);
    try {
      if (auto kept = kept_with(source, options, compute_capability, wanted)) return kept;
    } catch (const CompileError&) {
      // Another compiler may have been installed since.
    }
  }
  Job job = job_for(source, options, compute_capability, instantiations);
  job.may_have_more = true;
  return compile(job);
}

// In the order in which compile() would use the compilers.
std::shared_ptr<const CompiledModule> SourceCompiler::kept_with(
    const fs::path& source, const CompileOptions& options, int compute_capability,
    const std::optional<Instantiation>& instantiation) const {
  Job job = job_for(source, options, compute_capability,
                    instantiation ? std::vector{*instantiation} : std::vector<Instantiation>());
  job.may_have_more = true;
  std::vector<std::optional<NvrtcProcess>> compilers{job.nvrtc};
  const bool by_server = job.nvrtc && job.nvrtc->server;
  if (!by_server) compilers.insert(compilers.end(), {std::nullopt, nvrtc_process()});
  std::exception_ptr errors;
  for (const std::optional<NvrtcProcess>& nvrtc : compilers) {
    job.nvrtc = nvrtc;
    try {
      if (auto module = kept_module(job)) return module;
    } catch (const CompileError&) {
      errors = std::current_exception();
    }
  }
  if (errors) std::rethrow_exception(errors);
  return nullptr;
}

std::shared_ptr<const CompiledModule> SourceCompiler::compile(Job& job) const {
  if (!tools_.has("nvcc")) return module_of(job);
  if (const auto module = module_of_nvrtc(job, job.nvrtc)) return module;
  const bool was_tried = job.nvrtc.has_value();
  job.nvrtc.reset();
  try {
    return module_of(job);
  } catch (const CompileError&) {
    // nvcc also reports errors of host code, which NVRTC does not read.
    const bool may_help = job.kind == KernelFileKind::source && !was_tried;
    if (const auto module = module_of_nvrtc(job, may_help ? nvrtc_process() : std::nullopt))
      return module;
    throw;
  }
}

std::shared_ptr<const CompiledModule> SourceCompiler::module_of_nvrtc(
    Job job, const std::optional<NvrtcProcess>& nvrtc) const {
  if (!nvrtc) return nullptr;
  job.nvrtc = nvrtc;
  try {
    return module_of(job);
  } catch (const std::runtime_error&) {
    return nullptr;  // nvcc compiles more files, and knows the better errors
  }
}

// Null if there is none. Throws CompileError if the errors are kept.
std::shared_ptr<const CompiledModule> SourceCompiler::kept_module(Job& job) const {
  check_instantiation(job);
  job.request = request_for(job, job.instantiation_text());
  std::optional<StoredModule> kept = find(job);
  if (!kept) return nullptr;
  if (!kept->errors.empty()) fail(job, kept->errors);
  if (job.nvrtc && job.nvrtc->server)  // for the next version
    prepare_nvrtc(*job.nvrtc, job.source, job.options, job.architecture);
  return std::make_shared<CompiledModule>(
      CompiledModule::Parts{job.source, job.source_text(), job.architecture, kept->source_hash,
                            kept->instantiations, kept->cubin, kept->dependencies,
                            std::move(kept->dump), true, nullptr, job.nvrtc.has_value()});
}

std::shared_ptr<const CompiledModule> SourceCompiler::module_of(Job& job) const {
  if (auto kept = kept_module(job)) return kept;
  if (only_in_)
    throw InputError(
        fmt::format("{}: there is no machine code for {} of the file as it is now; it "
                    "changed since the command started: run the command again",
                    job.source.string(), job.architecture));
  CompiledModule::Parts parts = compiled(job);
  keep(job, parts);
  return std::make_shared<CompiledModule>(std::move(parts));
}

// Compiles again if a file changed meanwhile, because its hash would be that of other code. A file
// whose time is in the future is compiled twice.
CompiledModule::Parts SourceCompiler::compiled(Job& job) const {
  constexpr int kMaxAttempts = 4;
  const auto folder = std::make_shared<const TemporaryFolder>();
  std::vector<ModuleDependency> previous;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    job.started = fs::file_time_type::clock::now();
    job.text = read_kernel_input(job.source);
    std::vector<ModuleDependency> files = make_cubin(job, *folder);
    if (is_as_read(files, job.text, job.started) || files == previous)
      return {job.source,
              job.source_text(),
              job.architecture,
              source_hash_of(job, files),
              job.instantiation_texts(),
              *folder / kCubinName,
              files,
              dump(job, *folder),
              false,
              folder,
              job.nvrtc.has_value()};
    previous = std::move(files);
  }
  throw InputError(fmt::format(
      "{}: this file or a file that it includes changed during each of {} compilations: try again",
      job.source.string(), kMaxAttempts));
}

std::vector<ModuleDependency> SourceCompiler::make_cubin(const Job& job,
                                                         const TemporaryFolder& folder) const {
  switch (job.kind) {
    case KernelFileKind::source: return job.nvrtc ? run_nvrtc(job, folder) : run_nvcc(job, folder);
    case KernelFileKind::ptx:
      assemble(job.source, job.words, tools_, folder, kCubinName, limits_);
      break;
    case KernelFileKind::cubin:
      std::ofstream(folder / kCubinName, std::ios::binary) << job.text;
      break;
  }
  return {{job.source.string(), sha256_of_file(job.source)}};
}

std::vector<ModuleDependency> SourceCompiler::run_nvrtc(const Job& job,
                                                        const TemporaryFolder& folder) const {
  std::vector<ModuleDependency> files;
  for (const std::string& file :
       compile_with_nvrtc(*job.nvrtc, {job.source, job.options, job.instantiations},
                          job.architecture, folder, kCubinName, limits_))
    files.push_back({file, sha256_of_file(file)});
  return files;
}

std::vector<ModuleDependency> SourceCompiler::run_nvcc(const Job& job,
                                                       const TemporaryFolder& folder) const {
  std::vector<std::string> words{"-cubin", "-x", "cu", "-MD", "-MF", folder / kRule};
  words.insert(words.end(), job.words.begin(), job.words.end());
  words.insert(words.end(), {compiled_file(job, folder), "-o", folder / kCubinName});
  try {
    tools_.run("nvcc", words, folder, "compiled", limits_);
  } catch (const ToolFailure&) {
    const std::string generated =
        job.instantiations.empty()
            ? ""
            : fmt::format("{}({})", job.source.string(), job.instantiations.front().line);
    const std::string errors =
        compile_errors(text_of_file(folder / ToolkitTools::kErrors), generated);
    keep_errors(job, folder, errors);
    fail(job, errors);
  } catch (const ToolError& error) {
    throw ToolError(fmt::format("{}: {}", job.source.string(), error.what()));
  }
  return files_read(job, folder);
}

// Writes the file with an instantiation into the folder in which nvcc runs. It has the name of the
// source file, which nvcc's messages and the names of kernels in anonymous namespaces contain.
std::string SourceCompiler::compiled_file(const Job& job, const TemporaryFolder& folder) {
  if (job.instantiations.empty()) return job.source.string();
  const std::string name = job.source.filename().string();
  std::ofstream(folder / name, std::ios::binary)
      << fmt::format("#include \"{}\"\n", job.source.string())
      << instantiating_text(job.instantiations, job.source);
  return "./" + name;
}

// The source file, and the files that it includes. nvcc writes their list before it compiles.
std::vector<ModuleDependency> SourceCompiler::files_read(const Job& job,
                                                         const TemporaryFolder& folder) {
  std::vector<ModuleDependency> files{{job.source.string(), sha256_of_file(job.source)}};
  for (const std::string& file : dependencies_of_rule(text_of_file(folder / kRule))) {
    const fs::path path = (fs::path(folder.path()) / file).lexically_normal();
    const bool is_included = path != job.source && path.parent_path() != folder.path();
    if (is_included) files.push_back({path.string(), sha256_of_file(path)});
  }
  return files;
}

// Keeps the errors if each compilation of the same files has them.
void SourceCompiler::keep_errors(const Job& job, const TemporaryFolder& folder,
                                 const std::string& errors) const {
  if (text_of_file(folder / kRule).empty() || !is_error_of_code(errors)) return;
  const std::vector<ModuleDependency> files = files_read(job, folder);
  if (kept_in_.empty() || !is_as_read(files, job.text, job.started)) return;
  const StoredModule failed{"", {}, files, {}, {}, errors};
  ModuleStore(kept_in_).keep(job.request, failed);
  if (!ModuleStore(kept_in_).find(job.request))
    ModuleStore(private_->get(true)->path()).keep(job.request, failed);
}

void SourceCompiler::fail(const Job& job, const std::string& errors) {
  std::string first = errors.substr(0, errors.find('\n'));
  const std::string folder = job.source.parent_path().string() + "/";
  if (first.starts_with(folder)) first.erase(0, folder.size());
  throw CompileError(fmt::format("{}: {} cannot compile {} for {}:\n{}{}", job.source.string(),
                                 job.nvrtc ? "NVRTC" : "nvcc",
                                 job.instantiations.empty() ? "it" : job.instantiation_text(),
                                 job.architecture, errors, advice_on(errors)),
                     first);
}

ObjectDump SourceCompiler::dump(const Job& job, const TemporaryFolder& folder) const {
  try {
    return dump_cubin(folder / kCubinName, job.architecture, job.source.filename().string(), tools_,
                      folder, limits_);
  } catch (const ToolError& error) {
    const std::string writer = toolkit_version_of_cubin(text_of_file(folder / kCubinName));
    const std::string disassembler = tools_.version_of("nvdisasm");
    if (!is_older_version(disassembler, writer))
      throw ToolError(fmt::format("{}: {}", job.source.string(), error.what()));
    throw ToolError(fmt::format(
        "nvdisasm {} ({}) cannot read machine code of the CUDA Toolkit {}: install a toolkit, or "
        "the Python packages nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump, of at least that "
        "version; {}",
        disassembler, tools_.path_of("nvdisasm"), writer, error.what()));
  }
}

std::string SourceCompiler::source_hash_of(const Job& job,
                                           const std::vector<ModuleDependency>& files) const {
  CompileOptions options = job.options;
  options.include_folders.clear();  // paths of this machine; their files are hashed
  std::string text = fmt::format("{} {}", job.architecture, fmt::join(option_words(options), " "));
  for (const char* const tool : {"nvcc", "ptxas", "nvdisasm"})
    text += fmt::format("; {} {}", tool, tools_.version_of(tool));
  text += library_text(job.nvrtc);
  for (const ModuleDependency& file : files)
    text += "; " + file.sha256;
  return sha256(text);
}

}  // namespace gpuexp
