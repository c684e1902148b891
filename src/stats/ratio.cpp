#include "stats/ratio.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gpuexp {

namespace {

bool has_logarithm(const Statistics& s) {
  return s.median_ci95 && s.median_ci95->low > 0;
}

}  // namespace

std::optional<Ratio> ratio_of(const Statistics& a, const Statistics& b) {
  if (!has_logarithm(a) || !has_logarithm(b)) return std::nullopt;
  const Interval& in_a = *a.median_ci95;
  const Interval& in_b = *b.median_ci95;
  const double value = b.median / a.median;
  const double below = std::hypot(std::log(b.median / in_b.low), std::log(in_a.high / a.median));
  const double above = std::hypot(std::log(in_b.high / b.median), std::log(a.median / in_a.low));
  return Ratio{value, {value * std::exp(-below), value * std::exp(above)}};
}

std::optional<Ratio> geometric_mean(const std::vector<Ratio>& ratios) {
  if (ratios.empty()) return std::nullopt;
  double sum = 0;
  double below = 0;
  double above = 0;
  for (const Ratio& r : ratios) {
    sum += std::log(r.value);
    below = std::hypot(below, std::log(r.value / r.ci95.low));
    above = std::hypot(above, std::log(r.ci95.high / r.value));
  }
  const double n = static_cast<double>(ratios.size());
  const double mean = std::exp(sum / n);
  return Ratio{mean, {mean * std::exp(-below / n), mean * std::exp(above / n)}};
}

double MinimumEffect::at(double time_us) const {
  return std::max(relative, absolute_us / time_us);
}

std::string_view name_of(Verdict verdict) {
  static constexpr std::array<std::string_view, 4> kNames{"same", "faster", "slower",
                                                          "inconclusive"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

Interval confirmed_in_cycles(const Interval& ratio, double clock_ratio) {
  const Interval cycles{ratio.low * clock_ratio, ratio.high * clock_ratio};
  Interval confirmed = ratio;
  if (ratio.low > 1) confirmed.low = std::max(1.0, std::min(ratio.low, cycles.low));
  if (ratio.high < 1) confirmed.high = std::min(1.0, std::max(ratio.high, cycles.high));
  return confirmed;
}

Interval beyond(const Interval& ratio, double share) {
  Interval left = ratio;
  if (ratio.low > 1) left.low = std::max(1.0, ratio.low - share);
  if (ratio.high < 1) left.high = std::min(1.0, ratio.high + share);
  return left;
}

Verdict verdict_of(const Interval& ratio, double effect) {
  const double most = 1 + effect;
  const double least = 1 / most;
  if (ratio.low > most && ratio.high > most) return Verdict::slower;
  if (ratio.high < least && ratio.low < least) return Verdict::faster;
  if (ratio.low >= least && ratio.high <= most) return Verdict::same;
  return Verdict::inconclusive;
}

}  // namespace gpuexp
