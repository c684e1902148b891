#include "compile/nvrtc_compiler.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "compile/compile_error.hpp"
#include "compile/device_source.hpp"
#include "compile/nvcc_text.hpp"
#include "compile/nvrtc.hpp"
#include "compile/nvrtc_headers.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIncludedFiles = 1000;

void write_text_file(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// Copies of a file and of the files that it includes, without host code, in a folder where their
/// absolute paths are relative: includes find the same files.
class SourceCopies {
 public:
  SourceCopies(fs::path folder, std::vector<fs::path> include_folders)
      : folder_(std::move(folder)), include_folders_(std::move(include_folders)) {}

  void add(const fs::path& file) {
    if (!known_.insert(file).second || files_.size() >= kMaxIncludedFiles) return;
    files_.push_back(file.string());
    const std::string text = read_source(file);
    write_text_file(copy_of(file),
                    fmt::format("#line 1 \"{}\"\n{}", file.string(), device_source(text)));
    for (const IncludeDirective& directive : include_directives(text)) {
      if (const auto included = found(directive, file.parent_path())) add(*included);
    }
  }

  void append(const fs::path& file, const std::string& text) const {
    std::ofstream(copy_of(file), std::ios::binary | std::ios::app) << "\n" << text;
  }

  fs::path copy_of(const fs::path& path) const { return folder_ / path.relative_path(); }
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::optional<fs::path> found(const IncludeDirective& directive, const fs::path& beside) const {
    std::vector<fs::path> folders = include_folders_;
    if (directive.is_quoted) folders.insert(folders.begin(), beside);
    for (const fs::path& folder : folders) {
      std::error_code error;
      const fs::path file = (folder / directive.name).lexically_normal();
      if (fs::is_regular_file(file, error)) return file;
    }
    return std::nullopt;
  }

  fs::path folder_;
  std::vector<fs::path> include_folders_;
  std::set<fs::path> known_;
  std::vector<std::string> files_;
};

// The toolkit's headers, if they are installed: next to the library, or in CUDA_HOME.
std::vector<fs::path> toolkit_headers(const fs::path& library) {
  std::vector<fs::path> folders{
      library.parent_path().parent_path() / "include",
      library.parent_path().parent_path().parent_path() / "cuda_runtime/include"};
  if (const char* const home = std::getenv("CUDA_HOME"); home && *home)
    folders.push_back(fs::path(home) / "include");
  folders.emplace_back("/usr/local/cuda/include");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / "cuda_fp16.h", error)) return {folder, folder / "cccl"};
  }
  return {};
}

void write_stand_ins(const fs::path& folder) {
  for (const StandInHeader& header : stand_in_headers())
    write_text_file(folder / header.name, header.text);
}

// The summary, "1 error detected in the compilation of FILE", has the path of the copy.
std::string without_summary(std::string_view log) {
  std::string kept;
  while (!log.empty()) {
    const std::string_view line = take_until(log, "\n");
    const bool is_summary = line.find(" detected in the compilation of ") != line.npos ||
                            line == "Compilation terminated.";
    if (!is_summary) kept += fmt::format("{}\n", line);
  }
  return kept.empty() ? "error: NVRTC gives no reason\n" : kept;
}

std::vector<std::string> nvrtc_options(const CompileOptions& options,
                                       const std::string& architecture,
                                       const std::vector<fs::path>& include_folders) {
  CompileOptions complete = options;
  if (complete.standard.empty()) complete.standard = "c++17";
  complete.include_folders.clear();
  for (const fs::path& folder : include_folders)
    complete.include_folders.push_back(folder.string());
  // Members of classes and lambdas have no __device__ in code that only the host should call.
  std::vector<std::string> words{"--gpu-architecture=" + architecture, "-lineinfo",
                                 "--device-as-default-execution-space"};
  // nvcc includes cuda_runtime.h first, and with it these.
  for (const char* const header : {"climits", "cmath", "cstddef", "cstdint"})
    words.push_back(fmt::format("--pre-include={}", header));
  for (const std::string& word : option_words(complete))
    words.push_back(word);
  return words;
}

}  // namespace

std::vector<std::string> compile_with_nvrtc(const NvrtcProcess& nvrtc, const NvrtcSource& source,
                                            const std::string& architecture,
                                            const TemporaryFolder& folder, const std::string& cubin,
                                            const ToolLimits& limits) {
  std::vector<fs::path> given;
  for (const std::string& include : source.options.include_folders)
    given.push_back((source.file.parent_path() / include).lexically_normal());
  SourceCopies copies(folder / "source", given);
  copies.add(source.file);
  copies.append(source.file, instantiating_text(source.instantiations, source.file));
  write_stand_ins(folder / "headers");
  std::vector<fs::path> searched;
  for (const fs::path& include : given)
    searched.push_back(copies.copy_of(include));
  searched.emplace_back(folder / "headers");
  for (const fs::path& headers : toolkit_headers(nvrtc.library))
    searched.push_back(headers);

  ToolCommand command;
  command.words = {nvrtc.program, kNvrtcCommand, nvrtc.library.string(),
                   copies.copy_of(source.file).string(), folder / cubin};
  for (const std::string& word : nvrtc_options(source.options, architecture, searched))
    command.words.push_back(word);
  command.environment = {"TMPDIR=" + folder.path(), "LC_ALL=C"};
  command.folder = folder.path();
  command.output = folder / "output";
  command.errors = folder / ToolkitTools::kErrors;
  const std::string ending = run_process(command, limits);
  if (ending.empty()) return copies.files();
  const std::string messages = text_of_file(command.errors);
  if (ending == "exit code 2")
    throw CompileError(
        fmt::format("{}: NVRTC cannot compile it for {} (nvcc, which compiles more "
                    "files, is not installed):\n{}",
                    source.file.string(), architecture, compile_errors(messages)));
  throw ToolError(fmt::format("{}: NVRTC ({}) failed: {}: {}", source.file.string(),
                              nvrtc.library.string(), ending, compile_errors(messages)));
}

std::string run_nvrtc(const fs::path& library, const fs::path& source, const fs::path& cubin,
                      const std::vector<std::string>& options) {
  Nvrtc::Program program;
  program.text = text_of_file(source.string());
  program.name = source.string();
  program.options = options;
  const Nvrtc::Result result = Nvrtc(library).compile(program);
  if (!result.is_compiled) return without_summary(result.log);
  std::ofstream out(cubin, std::ios::binary);
  out << result.cubin;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", cubin.string()));
  return "";
}

}  // namespace gpuexp
