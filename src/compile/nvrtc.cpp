#include "compile/nvrtc.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

// Declared here because nvrtc.h is part of the library's package.
using ProgramHandle = void*;
using CreateProgram = int(ProgramHandle*, const char*, const char*, int, const char* const*,
                          const char* const*);
using DestroyProgram = int(ProgramHandle*);
using CompileProgram = int(ProgramHandle, int, const char* const*);
using AddName = int(ProgramHandle, const char*);
using LoweredName = int(ProgramHandle, const char*, const char**);
using SizeOf = int(ProgramHandle, std::size_t*);
using BytesOf = int(ProgramHandle, char*);
using VersionOf = int(int*, int*);

constexpr std::string_view kLibrary = "libnvrtc.so.";
constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";

// The major version in "libnvrtc.so.13"; empty for other files, such as libnvrtc.alt.so.13.
std::optional<int> version_in(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(kLibrary)) return std::nullopt;
  std::string_view number = std::string_view(name).substr(kLibrary.size());
  const auto version = take_number<int>(number);
  return number.empty() ? version : std::nullopt;
}

void add_entries(const fs::path& folder, std::vector<fs::path>& entries) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(entry->path());
}

std::vector<std::string> words_of_path(const char* variable) {
  std::vector<std::string> words;
  std::istringstream path(std::getenv(variable) ? std::getenv(variable) : "");
  for (std::string word; std::getline(path, word, ':');)
    if (!word.empty()) words.push_back(word);
  return words;
}

// PREFIX/bin of a Python environment has the packages of PREFIX/lib/python3.N/site-packages.
std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  for (const std::string& binaries : words_of_path("PATH")) {
    std::vector<fs::path> pythons;
    add_entries(fs::path(binaries).parent_path() / "lib", pythons);
    for (const fs::path& python : pythons) {
      if (!python.filename().string().starts_with("python3")) continue;
      const fs::path nvidia = python / "site-packages" / "nvidia";
      std::vector<fs::path> packages;
      add_entries(nvidia, packages);
      for (const fs::path& package : packages)
        folders.push_back(package / "lib");
    }
  }
  return folders;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  if (const char* const home = std::getenv("CUDA_HOME"); home && *home) {
    for (const char* const part : {"lib64", "lib", "targets/x86_64-linux/lib"})
      folders.push_back(fs::path(home) / part);
  }
  for (const std::string& folder : words_of_path("LD_LIBRARY_PATH"))
    folders.emplace_back(folder);
  for (const fs::path& folder : package_folders())
    folders.push_back(folder);
  for (const char* const folder :
       {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"})
    folders.emplace_back(folder);
  return folders;
}

template <class Type>
Type* function(void* handle, const char* name) {
  void* const found = dlsym(handle, name);
  if (!found) throw std::runtime_error(fmt::format("NVRTC lacks the function {}", name));
  return reinterpret_cast<Type*>(found);
}

void check(int status, const char* what) {
  if (status != 0) throw std::runtime_error(fmt::format("NVRTC: {} failed with {}", what, status));
}

std::string text_of(void* handle, ProgramHandle program, const char* size_name,
                    const char* text_name) {
  std::size_t size = 0;
  check(function<SizeOf>(handle, size_name)(program, &size), size_name);
  std::string text(size, '\0');
  check(function<BytesOf>(handle, text_name)(program, text.data()), text_name);
  return text;
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

}  // namespace

std::optional<fs::path> find_nvrtc() {
  for (const fs::path& folder : library_folders()) {
    std::vector<fs::path> entries;
    add_entries(folder, entries);
    std::optional<fs::path> newest;
    for (const fs::path& entry : entries) {
      const auto version = version_in(entry);
      if (version && (!newest || *version > *version_in(*newest))) newest = entry;
    }
    if (newest) return newest;
  }
  return std::nullopt;
}

// NVRTC searches the system's folders for its builtins unless they are loaded already.
Nvrtc::Nvrtc(const fs::path& library) {
  std::vector<fs::path> beside;
  add_entries(library.parent_path(), beside);
  for (const fs::path& file : beside) {
    if (file.filename().string().starts_with(kBuiltins)) dlopen(file.c_str(), RTLD_NOW);
  }
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(fmt::format("NVRTC cannot be loaded: {}", dlerror()));
}

Nvrtc::Result Nvrtc::compile(const Program& program) const {
  ProgramHandle created = nullptr;
  check(function<CreateProgram>(handle_, "nvrtcCreateProgram")(
            &created, program.text.c_str(), program.name.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  auto* const destroy = function<DestroyProgram>(handle_, "nvrtcDestroyProgram");
  const auto destroy_one = [destroy](ProgramHandle* one) { destroy(one); };
  const std::unique_ptr<ProgramHandle, decltype(destroy_one)> owner(&created, destroy_one);
  if (!program.instantiated.empty())
    check(
        function<AddName>(handle_, "nvrtcAddNameExpression")(created, program.instantiated.c_str()),
        "nvrtcAddNameExpression");
  std::vector<const char*> words;
  for (const std::string& option : program.options)
    words.push_back(option.c_str());
  Result result;
  const int status = function<CompileProgram>(handle_, "nvrtcCompileProgram")(
      created, static_cast<int>(words.size()), words.data());
  result.log = text_of(handle_, created, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").c_str();
  constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
  if (status == kCompilation) return result;
  if (status != 0)
    throw std::runtime_error(
        fmt::format("NVRTC: nvrtcCompileProgram failed with {}: {}", status, result.log));
  result.is_compiled = true;
  result.cubin = text_of(handle_, created, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  if (program.instantiated.empty()) return result;
  const char* lowered = nullptr;
  check(function<LoweredName>(handle_, "nvrtcGetLoweredName")(created, program.instantiated.c_str(),
                                                              &lowered),
        "nvrtcGetLoweredName");
  result.lowered_name = lowered;
  return result;
}

std::string Nvrtc::version() const {
  int major = 0;
  int minor = 0;
  check(function<VersionOf>(handle_, "nvrtcVersion")(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
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
