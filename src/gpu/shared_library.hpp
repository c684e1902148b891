// Libraries of the toolkit that are loaded at run time where they exist, and done without
// elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// A handle of dlopen for the first of the names that loads, or null and why. Looked for by the
/// loader itself, which knows the directories that the build found, in the lib64 of CUDA_HOME and of
/// /usr/local/cuda, and in NVIDIA's wheels in site-packages. Stays loaded.
void* open_library(const std::vector<std::string>& names, std::string& reason);

/// A library that open_library() finds, and functions of it.
class LoadedLibrary {
 public:
  /// `name`: as texts have it ("cuBLAS").
  LoadedLibrary(std::string name, const std::vector<std::string>& files);

  /// Leaves null what the library lacks.
  template <class Function>
  void resolve(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(address_of(symbol));
  }

  /// Why its functions must not be called; empty where all that were asked for are there.
  const std::optional<std::string>& missing() const { return missing_; }

 private:
  void* address_of(const char* symbol);

  std::string name_;
  void* handle_;
  std::optional<std::string> missing_;
};

/// The same as missing(), which loads a library and says why it must not be used. A forked child
/// calls it where the driver is not loaded, as for a plan: loading cuBLAS takes 200 MB, for
/// relocations of what is linked into it, and the child takes the memory with it. Where CUDA is,
/// the library will be used, and a process with a driver's threads should not fork.
std::optional<std::string> found_without_loading(std::optional<std::string> (*missing)());

}  // namespace gpuexp
