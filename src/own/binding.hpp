// Binding of a declaration to the kernels of its file.
#pragma once

#include <string>
#include <vector>

#include "own/bound.hpp"

namespace gpuexp::own {

/// `kernels` have machine code; `in_source` names all kernels of the file, also those without.
/// `variables` are those of the machine code. Throws DeclarationError if the declaration does not
/// fit the kernels and variables.
SharedBound bound_to(Declaration declaration, std::vector<OwnKernel> kernels,
                     const std::vector<std::string>& in_source = {},
                     const std::vector<OwnVariable>& variables = {});

}  // namespace gpuexp::own
