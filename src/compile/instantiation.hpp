// Instantiations of kernel templates: what makes nvcc compile one, and its name in the cubin.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

/// Text that, at the end of the source file, instantiates the kernels. `source` is the path for
/// messages. For each instantiation, the cubin also has an empty kernel whose template argument is
/// the instantiation's address.
std::string instantiating_text(const std::vector<Instantiation>& instantiations,
                               const std::filesystem::path& source);

/// The instantiation with this index among the kernels of such a file; null if the code lacks it,
/// because it has internal linkage, for example.
const KernelResource* instantiated_kernel(const CubinKernels& kernels, std::size_t index = 0);

/// Whether a compiler's errors name the instantiation: as a kernel that ptxas refuses, or as one
/// during whose instantiation the front end found an error. False if the template arguments are
/// spelled differently there.
bool is_named_in(std::string_view errors, const Instantiation& instantiation);

/// Whether this is the lowered name of one of the kernels that have an instantiation's address.
bool requests_instantiation(const std::string& lowered_name);

}  // namespace gpuexp
