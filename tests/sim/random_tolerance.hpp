// Tolerances of approximate functions, as stated by the PTX ISA.
#pragma once

#include "sim/random_programs.hpp"

namespace gpuexp::test {

/// Whether both values of an approximate instruction are within its stated error.
bool is_near(const RandomResult& result, const RandomLaunch& launch,
             const std::vector<RandomResult>& results, unsigned thread, std::uint64_t got,
             std::uint64_t expected);

}  // namespace gpuexp::test
