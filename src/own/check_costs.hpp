// The programs of a problem's checks, and what their elements cost.
#pragma once

#include <cstddef>

#include "own/check_expression.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// The check of an output, without CheckRounding::exact_limit, so that magnitudes do not shrink.
/// The nodes exist as long as `bound`. Throws DeclarationError.
CompiledCheck compiled_without_rounding(const Bound& bound, std::size_t output,
                                        const OwnProblem& problem, const OwnData& data);

/// Upper bounds on what one element of a check needs. A sum whose number of terms depends on a
/// buffer counts as one term.
struct CheckCost {
  double operations = 0;   ///< executed instructions
  double in_sequence = 0;  ///< executed by one thread if kSumParts threads share long sums
  double terms = 0;        ///< added terms of all sums
  SharedCost on_host;      ///< executed instructions on average, if SumValues keeps shared sums
};
CheckCost cost_of(const Bound& bound, std::size_t output, const OwnProblem& problem);

}  // namespace gpuexp::own
