#pragma once

#include <optional>

namespace gpuexp {

/// A number, and its 95 % interval where it has one.
struct Estimate {
  double value = 0;
  std::optional<double> low;
  std::optional<double> high;
};

}  // namespace gpuexp
