// The text of a declaration, as `describe` prints it.
#pragma once

#include <string>
#include <vector>

#include "own/bound.hpp"

namespace gpuexp::own {

struct DeclarationSection {
  std::string title;               ///< "buffers"
  std::vector<std::string> lines;  ///< "z[n]: output, fp32 (k.cu:2)"
};

/// Sections of what is declared, with roles, types and arguments that follow from the kernels. None
/// is empty.
std::vector<DeclarationSection> sections_of(const Bound& bound);

}  // namespace gpuexp::own
