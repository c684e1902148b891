// Instantiations of kernel templates: what makes nvcc compile one, and its name in the cubin.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "compile/cubin_kernels.hpp"

namespace gpuexp {

/// A kernel template with arguments.
struct Instantiation {
  std::string kernel;     ///< with namespaces: "blas::sgemm"
  std::string arguments;  ///< as in C++: "64, 64, 8, float"; may be empty
  std::size_t line = 1;   ///< line of the source file that messages of the compiler name

  /// "blas::sgemm<64, 64, 8, float>".
  std::string text() const { return kernel + "<" + arguments + ">"; }
};

/// A file that includes the source file, an absolute path, and instantiates the kernel. Its cubin
/// has one more kernel, which does nothing and has the address of the instantiation as template
/// argument.
std::string instantiating_text(const Instantiation& instantiation,
                               const std::filesystem::path& source);

/// The instantiation among the kernels of such a file; null if the code lacks it, because it has
/// internal linkage, for example.
const KernelResource* instantiated_kernel(const CubinKernels& kernels);

}  // namespace gpuexp
