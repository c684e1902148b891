#include "run/sample_clocks.hpp"

#include <algorithm>
#include <cmath>

#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

template <class Iterator>
std::vector<double> known(Iterator begin, Iterator end) {
  std::vector<double> values;
  for (; begin != end; ++begin) {
    if (*begin) values.push_back(**begin);
  }
  return values;
}

std::optional<double> second_half_over_first(const SampleClocks& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const auto first = median_of(known(values.begin(), middle));
  const auto second = median_of(known(middle, values.end()));
  return first && second && *first > 0 ? std::optional(*second / *first) : std::nullopt;
}

}  // namespace

bool covers_load(const ClockReading& reading) {
  constexpr double kMax = 0.5;
  return reading.load >= kMax;
}

std::optional<Clocks> clocks_of(const SampleClocks& mhz) {
  const std::vector<double> values = known(mhz.begin(), mhz.end());
  const auto median = median_of(values);
  if (!median) return std::nullopt;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return Clocks{*median, *lowest, *highest, second_half_over_first(mhz)};
}

bool drifted_with_clock(const std::vector<double>& samples_us, const Clocks& clocks) {
  constexpr double kDrift = 0.02;
  const auto times = second_half_over_first({samples_us.begin(), samples_us.end()});
  if (!clocks.second_half_over_first || !times) return false;
  const double clock = *clocks.second_half_over_first - 1;
  const double time = *times - 1;
  return std::abs(clock) > kDrift && time * clock < 0 && std::abs(time) >= std::abs(clock) / 2;
}

bool nears_power_cap(const Telemetry& telemetry, const std::optional<Clocks>& clocks,
                     double highest_mhz) {
  constexpr double kNear = 0.9;
  const auto& reasons = telemetry.clock_reasons;
  for (const char* reason : {"sw_power_cap", "hw_power_brake_slowdown"}) {
    if (std::find(reasons.begin(), reasons.end(), reason) != reasons.end()) return true;
  }
  if (telemetry.power_w && telemetry.power_limit_w &&
      *telemetry.power_w >= kNear * *telemetry.power_limit_w)
    return true;
  return clocks && clocks->median_mhz < kLowClock * highest_mhz;
}

}  // namespace gpuexp
