// Statements of a declaration for kernels whose launches and buffers were inferred.
#pragma once

#include <string>
#include <vector>

#include "infer/inferred_variant.hpp"

namespace gpuexp::infer {

struct DeclarationParts {
  std::vector<InferredVariant> variants;
  std::vector<InferredBuffer> variables;  ///< variables of the file that host code sets
  std::vector<std::string> options;       ///< compiler options
  std::vector<std::string> notes;         ///< on kernels that are not declared
  /// Whether arguments are written out for all kernels, because their names are in another file.
  bool has_arguments = false;
};

/// Comment lines that begin with "//": statements, what was assumed, and how to add checks.
/// Parameters and buffers with one name and equal properties are shared by the variants; a buffer
/// with other properties gets the variant's name as a suffix.
std::string declaration_text(const DeclarationParts& parts);

}  // namespace gpuexp::infer
