// Toolkit libraries that are loaded at run time if they are installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// Loads the first of the names that can be loaded; returns its dlopen handle, or null and sets
/// `reason`. Searches the loader's path, which includes the directories found by the build, then
/// lib64 of CUDA_HOME and /usr/local/cuda, then NVIDIA's wheels in site-packages. The library stays
/// loaded.
void* open_library(const std::vector<std::string>& names, std::string& reason);

/// A library loaded by open_library(), and its functions.
class LoadedLibrary {
 public:
  /// `name`: display name ("cuBLAS").
  LoadedLibrary(std::string name, const std::vector<std::string>& files);

  /// Address of a function; null if the library lacks it.
  void* address_of(const char* symbol);

  /// Why its functions must not be called; empty if all requested functions exist.
  const std::optional<std::string>& missing() const { return missing_; }
  /// Throws DeviceError if its functions must not be called.
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

/// Declares a member of a LoadedLibrary: the function that the library's header declares as
/// `symbol`.
#define GPUEXP_LIBRARY_FUNCTION(member, symbol) \
  LibraryFunction<decltype(&symbol)> member {   \
    *this, #symbol                              \
  }

/// A LoadedLibrary with its functions as members, loaded on the first call.
template <class Library>
const Library& loaded() {
  static const Library kLoaded;
  return kLoaded;
}

/// Returns missing(), which loads a library and says why it must not be used. If the driver is not
/// loaded, as in `plan`, a forked child makes the call: loading cuBLAS allocates 200 MB for
/// relocations, which the child's exit frees. Otherwise the library will be used, and a process
/// with driver threads should not fork.
std::optional<std::string> found_without_loading(std::optional<std::string> (*missing)());

/// found_without_loading() for loaded<Library>(); computed once.
template <class Library>
std::optional<std::string> missing_without_loading() {
  static const std::optional<std::string> kMissing =
      found_without_loading([] { return loaded<Library>().missing(); });
  return kMissing;
}

/// The driver's function with this name, as of CUDA 12.0; null if there is none.
void* driver_function(const char* name);

template <class Function>
Function driver_function_as(const char* name) {
  return reinterpret_cast<Function>(driver_function(name));
}

}  // namespace gpuexp
