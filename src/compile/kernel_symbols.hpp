// Parameters of compiled kernels: types from the lowered name, names from the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/c_type.hpp"
#include "compile/cubin_kernels.hpp"

namespace gpuexp {

struct KernelParameter {
  std::string name;         ///< empty if the source does not give one
  CType type;               ///< type of the parameter, or of the value that it points to
  bool is_pointer = false;  ///< a pointer to a pointer has the type unknown, such as "float*"
  bool is_const = false;    ///< the kernel only reads through this pointer
  std::string spelled;      ///< as in the source, or else as in the demangled name
  /// Size of a parameter of which machine code is all that is known; 0 if the type is known.
  std::int64_t untyped_bytes = 0;
};

struct KernelSignature {
  std::string name;                ///< without namespaces and template arguments: "add"
  std::string template_arguments;  ///< "float, 256"; empty if the kernel is no template
  std::string lowered_name;        ///< in the cubin: "_Z3addPKfS0_Pfi"
  std::size_t line = 0;            ///< line of the name in its source; 0: no source has it
  std::vector<KernelParameter> parameters;
};

/// The signature of each lowered name. Types are those of the demangled name; a kernel that is
/// extern "C", whose name is not mangled, has the types of the source. A declaration belongs to a
/// kernel if it has the kernel's name and number of parameters; of several overloads, the one with
/// the most names and equal types.
std::vector<KernelSignature> signatures(const std::vector<std::string>& lowered_names,
                                        const std::vector<std::string>& sources);
std::vector<KernelSignature> signatures(const std::vector<std::string>& lowered_names,
                                        std::string_view source);
/// The same for a cubin's kernels. Parameters of a kernel whose types neither the name nor the
/// source gives have the sizes of the machine code.
std::vector<KernelSignature> signatures(const CubinKernels& kernels,
                                        const std::vector<std::string>& sources);
std::vector<KernelSignature> signatures(const CubinKernels& kernels, std::string_view source);

/// Names of the kernels that the sources declare, in order, each once.
std::vector<std::string> kernels_in(const std::vector<std::string>& sources);
std::vector<std::string> kernels_in(std::string_view source);

/// The line of each kernel's name in the source, from 1; of several declarations, the last.
std::map<std::string, std::size_t, std::less<>> kernel_lines(std::string_view source);

struct SourceKernel {
  std::string qualified_name;  ///< with the namespaces of the first declaration: "blas::sgemm"
  bool is_template = false;    ///< whether a declaration of this name is a template
};

/// The kernel with this name; empty if the source does not declare it.
std::optional<SourceKernel> kernel_in(std::string_view source, std::string_view name);

}  // namespace gpuexp
