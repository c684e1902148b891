#include "config/published_figure.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuexp {

namespace {

struct Unit {
  std::string_view name;
  std::string_view base;
  double factor;
};
constexpr std::array kUnits{
    Unit{"us", "us", 1},
    Unit{"ms", "us", 1e3},
    Unit{"s", "us", 1e6},
    Unit{"GB/s", "GB/s", 1},
    Unit{"TB/s", "GB/s", 1e3},
    Unit{"TFLOP/s", "TFLOP/s", 1},
    Unit{"GFLOP/s", "TFLOP/s", 1e-3},
    Unit{"B", "B", 1},
    Unit{"MB", "B", 1e6},
    Unit{"GB", "B", 1e9},
    Unit{"×", "", 1},
    Unit{"%", "", 1e-2},
    Unit{"FLOP/B", "", 1},
};

}  // namespace

std::optional<double> units_per(const std::string& unit, const std::string& base) {
  if (unit == base) return 1;
  const auto found = std::ranges::find_if(
      kUnits, [&](const Unit& known) { return known.name == unit && known.base == base; });
  return found == kUnits.end() ? std::nullopt : std::optional(found->factor);
}

}  // namespace gpuexp
