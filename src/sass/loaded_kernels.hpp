// Kernels of modules that are compiled while the program runs, such as those of users' files.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "sass/source_text.hpp"

namespace gpuexp {

struct KernelResource;

/// Blocks with which a kernel can be launched, as its code declares them.
struct BlockLimits {
  std::int64_t max_threads = 0;            ///< as `__launch_bounds__` declares; 0: no limit
  std::array<std::int64_t, 3> required{};  ///< x, y and z, as `.reqntid` declares; 0: any
};

/// Machine code of one kernel for one compute capability.
struct LoadedCode {
  const KernelResource* resource = nullptr;  ///< valid until the program ends
  std::string cubin;                         ///< file that contains the kernel
  std::string hash;  ///< identifies everything that the machine code depends on
  /// Texts of the source files that the code's lines name; valid as long as `resource`.
  std::vector<SourceText> sources = {};
  BlockLimits block = {};
};

/// Its address is the kernel's Shape::kernel.
struct LoadedKernel {
  std::string name;  ///< "sgemm<64, 32, float>"
  /// The code for a compute capability (90 for 9.0), which is compiled on the first call. Several
  /// threads may call it. Throws InputError if the kernel does not compile, and other errors of the
  /// compiler.
  std::function<LoadedCode(int compute_capability)> code;
  /// Announces a call of code(). Kernels that are announced before they are compiled may be
  /// compiled together. May be empty, as the next function.
  std::function<void(int compute_capability)> expect = {};
  /// An address that is equal for announced kernels that are compiled together.
  std::function<const void*(int compute_capability)> compiled_with = {};
};

/// A __device__ or __constant__ variable of the module that contains a loaded kernel. Its address
/// stands for the variable's memory in a CopyStep.
struct LoadedVariable {
  std::string lowered_name;
  const void* kernel = nullptr;  ///< address of the kernel
};

/// The loaded kernels of this process, and variables of their modules. Several threads may call the
/// functions.
class LoadedKernels {
 public:
  static LoadedKernels& global();

  /// Returns the kernel's address, which stays valid.
  const void* add(LoadedKernel kernel);
  /// Null if the address is not that of a loaded kernel.
  const LoadedKernel* find(const void* kernel) const;

  /// The address of the variable with this name in the kernel's module, which stays valid.
  void* variable(const void* kernel, const std::string& lowered_name);
  /// Null if the address is not that of a variable.
  const LoadedVariable* find_variable(const void* variable) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<const void*, std::unique_ptr<const LoadedKernel>> kernels_;
  mutable std::mutex variables_mutex_;
  std::map<std::pair<const void*, std::string>, LoadedVariable> variables_;
};

/// Compiles those of the kernels that are loaded kernels, on at most `threads` threads, together
/// where that is possible. Errors are left to later calls of LoadedKernel::code.
void compile_loaded(const std::vector<const void*>& kernels, int compute_capability,
                    unsigned threads);

}  // namespace gpuexp
