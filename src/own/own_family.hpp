// The family of a user's kernel file, built from its declaration.
#pragma once

#include <string>
#include <vector>

#include "family/family.hpp"
#include "own/binding.hpp"

namespace gpuexp::own {

/// The family that the declaration describes. `id` is the file's name; for the kernels see bound_to().
/// Throws DeclarationError if the declaration does not fit the kernels. Family::make_problem throws
/// DeclarationError if an expression of the declaration cannot be evaluated.
Family family_of(std::string id, Declaration declaration, std::vector<OwnKernel> kernels,
                 const std::vector<std::string>& in_source = {});

}  // namespace gpuexp::own
