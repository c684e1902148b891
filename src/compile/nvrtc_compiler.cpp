#include "compile/nvrtc_compiler.hpp"

#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "compile/compile_error.hpp"
#include "compile/device_source.hpp"
#include "compile/included_files.hpp"
#include "compile/nvcc_text.hpp"
#include "compile/nvrtc.hpp"
#include "compile/nvrtc_headers.hpp"
#include "compile/precompiled_prefix.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

/// Folders in the private folder.
constexpr const char* kCopies = "source";
constexpr const char* kStandIns = "headers";

void write_text_file(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// A copy of the file is at its absolute path, as a relative path, in the folder: includes of
/// copies find copies.
fs::path copy_in(const fs::path& folder, const fs::path& file) {
  return folder / file.relative_path();
}

/// Copies files without their host code. The first begins with the prefix.
void copy_device_code(const std::vector<fs::path>& files, const fs::path& folder,
                      const std::string& prefix) {
  for (const fs::path& file : files)
    write_text_file(copy_in(folder, file),
                    fmt::format("{}#line 1 \"{}\"\n{}", file == files.front() ? prefix : "",
                                file.string(), device_source(read_source(file))));
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

/// What a compilation reads. Paths in the private folder are relative to it, so that compilations
/// with other folders have the same options, and share a precompiled header.
struct NvrtcInput {
  NvrtcInput(const NvrtcProcess& nvrtc, const fs::path& source, const CompileOptions& options) {
    std::vector<fs::path> given;
    for (const std::string& include : options.include_folders)
      given.push_back((source.parent_path() / include).lexically_normal());
    files = included_files(source, given);
    if (nvrtc.server) prefix = precompiled_prefix(files);
    for (const fs::path& include : given)
      searched.push_back(copy_in(kCopies, include));
    searched.push_back(nvrtc.server ? nvrtc.server->headers() : fs::path(kStandIns));
    for (const fs::path& headers : toolkit_headers(nvrtc.library))
      searched.push_back(headers);
  }

  std::vector<fs::path> files;  ///< the source file, and the user's files that it includes
  std::string prefix;           ///< begins the copy of the source file; empty without a server
  std::vector<fs::path> searched;
};

std::string run_alone(const NvrtcProcess& nvrtc, const NvrtcJob& job, ToolCommand command,
                      const ToolLimits& limits) {
  command.words = {nvrtc.program, kNvrtcCommand, nvrtc.library.string(), job.source, job.cubin};
  command.words.insert(command.words.end(), job.options.begin(), job.options.end());
  command.environment = {"TMPDIR=" + command.folder, "LC_ALL=C"};
  return run_process(command, limits);
}

}  // namespace

std::vector<std::string> compile_with_nvrtc(const NvrtcProcess& nvrtc, const NvrtcSource& source,
                                            const std::string& architecture,
                                            const TemporaryFolder& folder, const std::string& cubin,
                                            const ToolLimits& limits) {
  const NvrtcInput input(nvrtc, source.file, source.options);
  copy_device_code(input.files, folder / kCopies, input.prefix);
  const fs::path copy = folder / copy_in(kCopies, source.file).string();
  std::ofstream(copy, std::ios::binary | std::ios::app)
      << "\n"
      << instantiating_text(source.instantiations, source.file);
  if (!nvrtc.server) write_stand_ins(folder / kStandIns, nvrtc.library);
  const NvrtcJob job{copy.string(), folder / cubin,
                     nvrtc_options(source.options, architecture, input.searched), input.prefix};
  ToolCommand command;
  command.folder = folder.path();
  command.output = folder / "output";
  command.errors = folder / ToolkitTools::kErrors;
  const std::string ending = nvrtc.server ? nvrtc.server->run(job, command, limits)
                                          : run_alone(nvrtc, job, command, limits);
  if (ending.empty()) return {input.files.begin(), input.files.end()};
  const std::string messages = text_of_file(command.errors);
  if (ending == fmt::format("exit code {}", kNvrtcErrors))
    throw CompileError(
        fmt::format("{}: NVRTC cannot compile it for {} (nvcc, which compiles more "
                    "files, is not installed):\n{}",
                    source.file.string(), architecture, compile_errors(messages)));
  throw ToolError(fmt::format("{}: NVRTC ({}) failed: {}: {}", source.file.string(),
                              nvrtc.library.string(), ending, compile_errors(messages)));
}

void prepare_nvrtc(const NvrtcProcess& nvrtc, const fs::path& source, const CompileOptions& options,
                   const std::string& architecture) {
  const NvrtcInput input(nvrtc, source, options);
  nvrtc.server->prepare(nvrtc_options(options, architecture, input.searched), input.prefix);
}

}  // namespace gpuexp
