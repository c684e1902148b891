#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// Loads the first loadable name and returns its dlopen handle, or returns null and sets `reason`.
/// Searches the loader's path, which includes the directories that the build found, then lib64 and
/// extras/CUPTI/lib64 of CUDA_HOME and /usr/local/cuda, then NVIDIA's wheels in site-packages. The
/// library stays loaded.
void* open_library(const std::vector<std::string>& names, std::string& reason);

class LoadedLibrary {
 public:
  LoadedLibrary(std::string name, const std::vector<std::string>& files);

  void* address_of(const char* symbol);

  /// Why the functions must not be called; empty if the library has all requested functions.
  const std::optional<std::string>& missing() const { return missing_; }
  /// Throws DeviceError with missing(), if any.
  void require() const;

 private:
  std::string name_;
  void* handle_;
  std::optional<std::string> missing_;
};

/// A library's function, which is called like a function pointer.
template <class Pointer>
class LibraryFunction {
 public:
  LibraryFunction(LoadedLibrary& library, const char* symbol)
      : pointer_(reinterpret_cast<Pointer>(library.address_of(symbol))) {}
  operator Pointer() const { return pointer_; }

 private:
  Pointer pointer_;
};

/// Declares a member of a LoadedLibrary: the function `symbol` with the type in the library's
/// header.
#define GPUEXP_LIBRARY_FUNCTION(member, symbol) \
  LibraryFunction<decltype(&symbol)> member {   \
    *this, #symbol                              \
  }

template <class Library>
const Library& loaded() {
  static const Library kLoaded;
  return kLoaded;
}

/// Calls missing(), which loads a library and returns why it must not be used. If the driver is not
/// loaded, as in `plan`, the call runs in a forked child, whose exit frees the memory (200 MB for
/// cuBLAS). A process with driver threads must not fork.
std::optional<std::string> found_without_loading(std::optional<std::string> (*missing)());

/// found_without_loading() for loaded<Library>(), called once.
template <class Library>
std::optional<std::string> missing_without_loading() {
  static const std::optional<std::string> kMissing =
      found_without_loading([] { return loaded<Library>().missing(); });
  return kMissing;
}

/// The driver's function with this name, as of CUDA 12.0; null if the driver lacks it.
void* driver_function(const char* name);

template <class Function>
Function driver_function_as(const char* name) {
  return reinterpret_cast<Function>(driver_function(name));
}

}  // namespace gpuexp
