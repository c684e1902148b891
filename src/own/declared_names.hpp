// Names in the expressions of a declaration.
#pragma once

#include <vector>

#include "own/declaration.hpp"

namespace gpuexp::own {

/// Extents, bounds of fills, requirements, amounts of work, template arguments, grids, blocks,
/// bytes of shared memory, values of memsets.
std::vector<const PlacedExpression*> expressions_of(const Declaration& declaration);

/// Checks that these expressions use only declared parameters. Throws DeclarationError.
void check_names(const Declaration& declaration);
/// The same for one expression.
void check_names(const Declaration& declaration, const PlacedExpression& expression);

}  // namespace gpuexp::own
