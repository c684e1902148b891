// Libraries of the toolkit that are loaded at run time where they exist, and done without
// elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// A handle of dlopen for the first of the names that loads, or null and why. Looked for by the
/// loader itself, which knows the directories that the build found, in the lib64 of CUDA_HOME and
/// of /usr/local/cuda, and in NVIDIA's wheels in site-packages. Stays loaded.
void* open_library(const std::vector<std::string>& names, std::string& reason);

/// A library that open_library() finds, and functions of it.
class LoadedLibrary {
 public:
  /// `name`: as texts have it ("cuBLAS").
  LoadedLibrary(std::string name, const std::vector<std::string>& files);

  /// Null for what the library lacks.
  void* address_of(const char* symbol);

  /// Why its functions must not be called; empty where all that were asked for are there.
  const std::optional<std::string>& missing() const { return missing_; }
  /// Throws DeviceError where they must not be called.
  void require() const;

 private:
  std::string name_;
  void* handle_;
  std::optional<std::string> missing_;
};

/// A function of a library, called like a pointer to it.
template <class Pointer>
class LibraryFunction {
 public:
  LibraryFunction(LoadedLibrary& library, const char* symbol)
      : pointer_(reinterpret_cast<Pointer>(library.address_of(symbol))) {}
  operator Pointer() const { return pointer_; }

 private:
  Pointer pointer_;
};

/// A member of a LoadedLibrary: the function that the library's header declares as `symbol`.
#define GPUEXP_LIBRARY_FUNCTION(member, symbol) \
  LibraryFunction<decltype(&symbol)> member {   \
    *this, #symbol                              \
  }

/// A LoadedLibrary with its functions as members, loaded by the first call.
template <class Library>
const Library& loaded() {
  static const Library kLoaded;
  return kLoaded;
}

/// The same as missing(), which loads a library and says why it must not be used. A forked child
/// calls it where the driver is not loaded, as for a plan: loading cuBLAS takes 200 MB, for
/// relocations of what is linked into it, and the child takes the memory with it. Where CUDA is,
/// the library will be used, and a process with a driver's threads should not fork.
std::optional<std::string> found_without_loading(std::optional<std::string> (*missing)());

/// The same of loaded<Library>(), asked for once.
template <class Library>
std::optional<std::string> missing_without_loading() {
  static const std::optional<std::string> kMissing =
      found_without_loading([] { return loaded<Library>().missing(); });
  return kMissing;
}

/// The driver's function of that name, as CUDA 12.0 declares it; null where there is none.
void* driver_function(const char* name);

template <class Function>
Function driver_function_as(const char* name) {
  return reinterpret_cast<Function>(driver_function(name));
}

}  // namespace gpuexp
