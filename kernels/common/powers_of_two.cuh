// Functions for powers of two.
#pragma once

#include <cstdint>

namespace gpuexp {

constexpr bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

constexpr int logarithm(std::int64_t power_of_two) {
  int log = 0;
  while (power_of_two >>= 1)
    ++log;
  return log;
}

}  // namespace gpuexp
