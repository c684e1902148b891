// The tolerance of an output of a user's kernel, derived from its check.
#pragma once

#include <cstddef>
#include <string>

#include "family/tolerance.hpp"
#include "own/check_program.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// The type in which kernels are expected to compute an output of this type.
DataType computing_type(DataType output);

/// The bound on the error of an output, and its derivation.
Tolerance tolerance_of(const Bound& bound, std::size_t output, const OwnProblem& problem);
std::string tolerance_derivation(const Bound& bound);

/// Sets the share of a derived tolerance that remains if an element is exact. Checks without sums
/// keep their tolerance.
void set_rounding(const Bound& bound, std::size_t output, const OwnProblem& problem,
                  CheckRounding& rounding);

}  // namespace gpuexp::own
