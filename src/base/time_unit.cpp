#include "base/time_unit.hpp"

#include <array>

namespace gpuexp {

TimeUnit time_unit_for(const std::vector<double>& times_us) {
  constexpr std::array<TimeUnit, 4> kLongestFirst{
      {{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}}};
  double smallest = 0;
  for (const double time : times_us) {
    if (time > 0 && (smallest == 0 || time < smallest)) smallest = time;
  }
  if (smallest == 0) return {};
  for (const TimeUnit& unit : kLongestFirst) {
    if (smallest >= unit.us) return unit;
  }
  return kLongestFirst.back();
}

}  // namespace gpuexp
