// The family of a user's kernel file, built from its declaration.
#pragma once

#include <string>
#include <vector>

#include "family/family.hpp"
#include "own/binding.hpp"

namespace gpuexp::own {

/// The family that the declaration describes. `id` is the file's name. Family::make_problem throws
/// DeclarationError if an expression of the declaration cannot be evaluated.
Family family_of(std::string id, const SharedBound& bound);
/// For the other arguments see bound_to(). Throws DeclarationError if the declaration does not fit
/// the kernels.
Family family_of(std::string id, Declaration declaration, std::vector<OwnKernel> kernels,
                 const std::vector<std::string>& in_source = {});

/// The same family with contents for which its sums are exact (exact_sums.hpp). Only for values
/// whose problem the first family could make.
Family exact_family_of(std::string id, const SharedBound& bound);

}  // namespace gpuexp::own
