// Values of a parameter: 1024, 0.5, 2^20..2^26.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "own/statement.hpp"

namespace gpuexp::own {

/// Largest magnitudes of values. Integers of this size and their differences are exact in fp64, and
/// differences of reals are finite.
inline constexpr double kMaxInteger = 0x1p52;
inline constexpr double kMaxReal = 1e300;

/// Reads the values to the end of the statement. All are integers, or all are reals.
std::vector<Value> read_values(Statement& s, const std::string& parameter);

}  // namespace gpuexp::own
