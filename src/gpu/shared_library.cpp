#include "gpu/shared_library.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device_error.hpp"

namespace gpuexp {

namespace {

std::vector<std::string> folders_like(const std::string& pattern) {
  std::vector<std::string> folders;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    folders.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return folders;
}

/// Directories where pip installs NVIDIA's wheels: first of the active environment, then of the
/// user, then of the system.
std::vector<std::string> site_packages() {
  std::vector<std::string> folders;
  std::vector<std::string> roots;
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* root = std::getenv(environment)) roots.emplace_back(root);
  }
  if (const char* home = std::getenv("HOME")) roots.push_back(std::string(home) + "/.local");
  roots.insert(roots.end(), {"/usr/local", "/usr"});
  for (const std::string& root : roots) {
    for (const char* pattern : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"}) {
      for (const std::string& folder : folders_like(root + pattern))
        folders.push_back(folder);
    }
  }
  return folders;
}

/// Directories in search order. The empty name stands for the loader's own search, which includes
/// the executable's RUNPATH.
std::vector<std::string> search_directories() {
  std::vector<std::string> directories{""};
  std::vector<std::string> toolkits;
  if (const char* home = std::getenv("CUDA_HOME")) toolkits.emplace_back(home);
  const std::string usual = "/usr/local/cuda";
  if (toolkits.empty() || toolkits.front() != usual) toolkits.push_back(usual);
  for (const std::string& toolkit : toolkits) {
    for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/"})
      directories.push_back(toolkit + folder);
  }
  for (const std::string& packages : site_packages()) {
    for (const std::string& folder : folders_like(packages + "/nvidia/*/lib/"))
      directories.push_back(folder);
  }
  return directories;
}

std::optional<std::string> missing_in_child(std::optional<std::string> (*missing)()) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return missing();
  const pid_t child = fork();
  if (child == 0) {
    const std::string found = missing().value_or("");
    const auto written = write(ends[1], found.data(), found.size());
    _exit(written == static_cast<ssize_t>(found.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string found;
  std::array<char, 512> part{};
  for (ssize_t count = 0; child > 0 && (count = read(ends[0], part.data(), part.size())) > 0;)
    found.append(part.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return missing();
  return found.empty() ? std::nullopt : std::optional(found);
}

}  // namespace

void* open_library(const std::vector<std::string>& names, std::string& reason) {
  std::string searched;
  for (const std::string& directory : search_directories()) {
    searched += directory.empty() ? "the loader's path" : ", " + directory;
    for (const std::string& name : names) {
      const std::string path = directory + name;
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
      // Reports why a library that exists does not load: a dependency is missing, or the file is
      // for another machine.
      const std::string error = dlerror();
      const bool absent =
          error == path + ": cannot open shared object file: No such file or directory";
      if (reason.empty() && !absent) reason = path + ": " + error;
    }
  }
  if (reason.empty()) reason = fmt::format("none of {} in {}", fmt::join(names, ", "), searched);
  return nullptr;
}

LoadedLibrary::LoadedLibrary(std::string name, const std::vector<std::string>& files)
    : name_(std::move(name)) {
  std::string reason;
  handle_ = open_library(files, reason);
  if (!handle_) missing_ = fmt::format("{} cannot be loaded: {}", name_, reason);
}

void* LoadedLibrary::address_of(const char* symbol) {
  if (!handle_) return nullptr;
  void* const address = dlsym(handle_, symbol);
  if (!address) missing_ = fmt::format("the {} found here lacks {}: too old", name_, symbol);
  return address;
}

void LoadedLibrary::require() const {
  if (missing_) throw DeviceError(*missing_, DeviceFault::refused);
}

std::optional<std::string> found_without_loading(std::optional<std::string> (*missing)()) {
  const bool with_cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  return with_cuda ? missing() : missing_in_child(missing);
}

void* driver_function(const char* name) {
  constexpr unsigned kVersion = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace gpuexp
