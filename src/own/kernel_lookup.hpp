// The kernel that a launch names.
#pragma once

#include <string>
#include <vector>

#include "own/bound.hpp"

namespace gpuexp::own {

/// "add(const float* x, int n)".
std::string text_of(const KernelSignature& kernel);

/// All arguments must outlive the object.
class KernelLookup {
 public:
  /// `in_source` names all kernels of the file, also those without code.
  KernelLookup(const std::string& file, const std::vector<OwnKernel>& kernels,
               const std::vector<std::string>& in_source)
      : file_(file), kernels_(kernels), in_source_(in_source) {}

  /// Throws DeclarationError if there is no such kernel, or if there are several.
  const OwnKernel& of(const DeclaredLaunch& launch) const;

  /// Whether all kernels of the variant have code. Throws like of().
  bool has_code(const DeclaredVariant& variant) const;

 private:
  const OwnKernel& named(const std::string& name, const Place& place) const;

  const std::string& file_;
  const std::vector<OwnKernel>& kernels_;
  const std::vector<std::string>& in_source_;
};

/// Removes buffers that only variants without code can use, and what is expected of them: which
/// kernel writes them, and the types of their elements, are unknown. `variables` are those of the
/// machine code, which buffers may name.
void remove_unknown_buffers(Declaration& declaration, const KernelLookup& kernels,
                            const std::vector<OwnVariable>& variables);

}  // namespace gpuexp::own
