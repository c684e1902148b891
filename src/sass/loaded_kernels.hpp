// Kernels of modules that are compiled while the program runs, such as those of users' files.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

namespace gpuexp {

struct KernelResource;
struct SourceText;

/// Machine code of one kernel for one compute capability.
struct LoadedCode {
  const KernelResource* resource = nullptr;  ///< valid until the program ends
  std::string cubin;                         ///< file that contains the kernel
  std::string hash;  ///< identifies everything that the machine code depends on
  /// Texts of the source files that the code's lines name; valid as long as `resource`.
  std::vector<SourceText> sources = {};
};

/// Its address is the kernel's Shape::kernel.
struct LoadedKernel {
  std::string lowered_name;
  /// The code for a compute capability (90 for 9.0), which is compiled on the first call. Several
  /// threads may call it. Throws what the compiler throws.
  std::function<LoadedCode(int compute_capability)> code;
};

/// The loaded kernels of this process. Kernels are added before other threads start.
class LoadedKernels {
 public:
  static LoadedKernels& global();

  /// Returns the kernel's address, which stays valid.
  const void* add(LoadedKernel kernel);
  /// Null if the address is not that of a loaded kernel.
  const LoadedKernel* find(const void* kernel) const;

 private:
  std::list<LoadedKernel> kernels_;
};

}  // namespace gpuexp
