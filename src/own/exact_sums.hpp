// A second verification of kernels with long sums. The bound on rounding errors grows with the
// number of terms and may exceed single terms, so that a kernel that omits a term could pass. With
// small whole numbers as contents, correct sums have no rounding errors, and the omission is an
// error.
#pragma once

#include <cstdint>
#include <string>

#include "own/own_problem.hpp"

namespace gpuexp::own {

struct ExactSums {
  /// The bound on rounding errors exceeds a sixteenth of an average term of a sum.
  bool are_needed = false;
  ExactContents contents;  ///< with which all sums are exact; none if `why_not` is set
  std::string why_not;     ///< why needed contents do not exist
};

/// The sums of the checks of all outputs, for contents as declared.
ExactSums exact_sums_of(const Bound& bound, const OwnProblem& problem);

}  // namespace gpuexp::own
