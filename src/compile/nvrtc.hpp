// NVRTC, CUDA's compiler as a library, which is loaded while the program runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpuexp {

/// The newest libnvrtc.so.N in CUDA_HOME, next to the Python environments of PATH (the package
/// nvidia-cuda-nvrtc), in /usr/local/cuda and in the system's folders; empty if there is none.
std::optional<std::filesystem::path> find_nvrtc();

class Nvrtc {
 public:
  /// Loads the library into this process. Throws std::runtime_error with the reason if that fails.
  explicit Nvrtc(const std::filesystem::path& library);

  struct Program {
    std::string text;
    std::string name;  ///< path for messages and source lines; its folder is searched for includes
    std::vector<std::string> options;
    std::string instantiated;  ///< a kernel with template arguments; empty: none
  };
  struct Result {
    bool is_compiled = false;
    std::string log;           ///< errors and warnings
    std::string cubin;         ///< machine code
    std::string lowered_name;  ///< the result of Program::instantiated
  };
  /// Throws std::runtime_error if NVRTC fails for another reason than the program.
  Result compile(const Program& program) const;

  /// "13.0".
  std::string version() const;

 private:
  void* handle_ = nullptr;  ///< stays loaded until the process ends
};

/// Exit code of a process that calls run_nvrtc() and receives errors.
inline constexpr int kNvrtcErrors = 2;

/// Compiles `source` with the library, and writes the cubin. Returns
/// NVRTC's errors; empty if there are none. Throws std::runtime_error if NVRTC fails otherwise.
std::string run_nvrtc(const std::filesystem::path& library, const std::filesystem::path& source,
                      const std::filesystem::path& cubin, const std::vector<std::string>& options);

}  // namespace gpuexp
