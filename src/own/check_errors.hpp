// Errors that only the evaluation of a check finds: an index out of range, or a value that no
// result can equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "own/own_problem.hpp"

namespace gpuexp::own {

/// "y[3][4]" for element 28 of y[5][8].
std::string element_name(const std::string& buffer, const std::vector<std::int64_t>& extents,
                         std::int64_t element);

/// Why an element of an output has no expected value: "FILE:LINE:COLUMN: ..."; empty if it has one.
/// Evaluates the check on the host. Buffers have the contents that the seed gives them.
std::string check_error(const Bound& bound, const OwnProblem& problem, std::uint64_t seed,
                        std::size_t output, std::int64_t element);

}  // namespace gpuexp::own
