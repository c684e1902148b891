// Comparisons of ISETP and similar instructions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/vectorized.hpp"

namespace gpuexp::sim {

enum class IntegerCompare : std::uint8_t { eq, ne, lt, le, gt, ge };
inline constexpr std::array<std::string_view, 6> kIntegerCompares{"EQ", "NE", "LT",
                                                                  "LE", "GT", "GE"};

template <class T>
GPUEXP_INLINED bool compare(IntegerCompare how, T a, T b) {
  switch (how) {
    case IntegerCompare::eq: return a == b;
    case IntegerCompare::ne: return a != b;
    case IntegerCompare::lt: return a < b;
    case IntegerCompare::le: return a <= b;
    case IntegerCompare::gt: return a > b;
    case IntegerCompare::ge: return a >= b;
  }
  return false;
}

}  // namespace gpuexp::sim
