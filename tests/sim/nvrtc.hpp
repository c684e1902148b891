// NVRTC, CUDA's compiler as a library, loaded if it is installed.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace gpuexp::test {

class Nvrtc {
 public:
  /// Returns nullopt if the folder has no such library; `why` then holds the reason.
  static std::optional<Nvrtc> load(const std::filesystem::path& folder, const std::string& library,
                                   std::string& why) {
    // NVRTC searches the system's folders for its builtins unless they are loaded already.
    std::error_code no_folder;
    for (const auto& entry : std::filesystem::directory_iterator(folder, no_folder)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("libnvrtc-builtins.so.", 0) == 0)
        dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    void* const handle = dlopen((folder / library).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) return Nvrtc(handle);
    why = "NVRTC cannot be loaded: " + std::string(dlerror());
    return std::nullopt;
  }

  struct Cubin {
    std::string bytes;
    std::string lowered_name;  ///< mangled name of `kernel`
  };

  /// Compiles `source` and instantiates `kernel`, given with its template arguments. Throws
  /// std::runtime_error with the compiler's log.
  Cubin compile(const std::string& source, const std::string& file,
                const std::vector<std::string>& options, const std::string& kernel) const {
    Program program = nullptr;
    check(create_(&program, source.c_str(), file.c_str(), 0, nullptr, nullptr), "create");
    check(add_name_(program, kernel.c_str()), "add name");
    std::vector<const char*> words;
    for (const std::string& option : options)
      words.push_back(option.c_str());
    if (compile_(program, static_cast<int>(words.size()), words.data()) != 0) {
      std::size_t size = 0;
      log_size_(program, &size);
      std::string log(size, '\0');
      log_(program, log.data());
      destroy_(&program);
      throw std::runtime_error(log);
    }
    Cubin cubin;
    std::size_t size = 0;
    check(cubin_size_(program, &size), "cubin size");
    cubin.bytes.resize(size);
    check(cubin_(program, cubin.bytes.data()), "cubin");
    const char* lowered = nullptr;
    check(lowered_name_(program, kernel.c_str(), &lowered), "lowered name");
    cubin.lowered_name = lowered;
    destroy_(&program);
    return cubin;
  }

 private:
  // Declared here because nvrtc.h is part of the library's package.
  using Program = void*;
  using Create = int(Program*, const char*, const char*, int, const char* const*,
                     const char* const*);
  using Compile = int(Program, int, const char* const*);
  using Size = int(Program, std::size_t*);
  using Bytes = int(Program, char*);

  explicit Nvrtc(void* handle)
      : create_(function<Create>(handle, "nvrtcCreateProgram")),
        destroy_(function<int(Program*)>(handle, "nvrtcDestroyProgram")),
        compile_(function<Compile>(handle, "nvrtcCompileProgram")),
        add_name_(function<int(Program, const char*)>(handle, "nvrtcAddNameExpression")),
        lowered_name_(
            function<int(Program, const char*, const char**)>(handle, "nvrtcGetLoweredName")),
        log_size_(function<Size>(handle, "nvrtcGetProgramLogSize")),
        log_(function<Bytes>(handle, "nvrtcGetProgramLog")),
        cubin_size_(function<Size>(handle, "nvrtcGetCUBINSize")),
        cubin_(function<Bytes>(handle, "nvrtcGetCUBIN")) {}

  template <class Type>
  static Type* function(void* handle, const char* name) {
    void* const found = dlsym(handle, name);
    if (!found) throw std::runtime_error(std::string("NVRTC lacks ") + name);
    return reinterpret_cast<Type*>(found);
  }

  static void check(int status, const std::string& what) {
    if (status != 0)
      throw std::runtime_error("NVRTC: " + what + " failed with " + std::to_string(status));
  }

  Create* create_;
  int (*destroy_)(Program*);
  Compile* compile_;
  int (*add_name_)(Program, const char*);
  int (*lowered_name_)(Program, const char*, const char**);
  Size* log_size_;
  Bytes* log_;
  Size* cubin_size_;
  Bytes* cubin_;
};

}  // namespace gpuexp::test
