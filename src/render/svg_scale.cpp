#include "render/svg_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

double on_scale(ScaleKind kind, double value) {
  return kind == ScaleKind::linear ? value : std::log2(value);
}

// A file may hold any number, and products of two need not be finite.
double in_range(double value) {
  constexpr double kMost = std::numeric_limits<double>::max() / 4;
  return std::isnan(value) ? 0 : std::clamp(value, -kMost, kMost);
}

// Every so-many-th, so that at most `most` are left; the first always.
std::vector<double> thinned(const std::vector<double>& all, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, (all.size() + most - 1) / most);
  std::vector<double> kept;
  for (std::size_t i = 0; i < all.size(); i += step)
    kept.push_back(all[i]);
  return kept;
}

}  // namespace

SvgScale::SvgScale(ScaleKind kind, double low, double high, double from, double to)
    : kind_(kind), low_(in_range(low)), high_(in_range(high)), from_(from), to_(to) {
  if (high_ > low_) return;
  // One value stands in the middle.
  const bool is_linear = kind_ == ScaleKind::linear;
  const double half = low_ == 0 ? 1 : std::abs(low_) / 2;
  low_ = is_linear ? low_ - half : low_ / 2;
  high_ = is_linear ? high_ + half : high_ * 2;
}

double SvgScale::at(double value) const {
  const double begin = on_scale(kind_, low_);
  const double share = (on_scale(kind_, value) - begin) / (on_scale(kind_, high_) - begin);
  return from_ + share * (to_ - from_);
}

std::vector<double> SvgScale::ticks(std::size_t most) const {
  switch (kind_) {
    case ScaleKind::linear: return linear_ticks(most);
    case ScaleKind::decades: return decade_ticks(most);
    case ScaleKind::powers_of_two: return power_ticks(most);
  }
  return {};
}

std::vector<double> SvgScale::linear_ticks(std::size_t most) const {
  const double raw = (high_ - low_) / static_cast<double>(std::max<std::size_t>(1, most));
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * decade;
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * decade >= raw) {
      step = times * decade;
      break;
    }
  }
  std::vector<double> found;
  if (!(step > 0)) return found;  // of numbers near the smallest that there are
  const auto first = static_cast<long>(std::ceil(low_ / step - 1e-9));
  const auto last = static_cast<long>(std::floor(high_ / step + 1e-9));
  for (long i = first; i <= last; ++i)
    found.push_back(static_cast<double>(i) * step);
  return found;
}

std::vector<double> SvgScale::decade_ticks(std::size_t most) const {
  std::vector<double> all;
  std::vector<double> powers;
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  for (int e = first; e <= last; ++e) {
    for (const double times : {1.0, 2.0, 5.0}) {
      const double value = times * std::pow(10, e);
      if (value < low_ * (1 - 1e-9) || value > high_ * (1 + 1e-9)) continue;
      all.push_back(value);
      if (times == 1.0) powers.push_back(value);
    }
  }
  if (all.size() <= most || powers.empty()) return thinned(all, most);
  return thinned(powers, most);
}

std::vector<double> SvgScale::power_ticks(std::size_t most) const {
  std::vector<double> all;
  const int first = static_cast<int>(std::ceil(std::log2(low_) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high_) + 1e-9));
  for (int e = first; e <= last; ++e)
    all.push_back(std::exp2(e));
  return thinned(all, most);
}

std::string SvgScale::tick_text(double value) const {
  // In full: a tick at 2042 is not at 2040.
  constexpr int kAllDigits = 10;
  return kind_ == ScaleKind::powers_of_two ? binary_text(value) : significant(value, kAllDigits);
}

ScaleKind scale_for(std::vector<double> values) {
  constexpr double kLeastRange = 8;
  constexpr double kLeastStep = 1.2;
  constexpr double kWideRange = 200;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 3 || !(values.front() > 0) || values.back() / values.front() < kLeastRange)
    return ScaleKind::linear;
  // On a linear scale, most values of a range that wide would stand in one place.
  if (values.back() / values.front() >= kWideRange) return ScaleKind::powers_of_two;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    if (values[i + 1] / values[i] < kLeastStep) return ScaleKind::linear;
  }
  return ScaleKind::powers_of_two;
}

std::string binary_text(double value) {
  struct Prefix {
    double size;
    double least;
    const char* name;
  };
  constexpr std::array<Prefix, 3> kPrefixes{
      {{1024.0 * 1024 * 1024, 1, "Gi"}, {1024.0 * 1024, 1, "Mi"}, {1024.0, 16, "Ki"}}};
  for (const Prefix& prefix : kPrefixes) {
    if (value >= prefix.least * prefix.size && std::fmod(value, prefix.size) == 0)
      return significant(value / prefix.size, 4) + prefix.name;
  }
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : significant(value, 4);
}

std::string short_number(double value) {
  constexpr double kManyDigits = 1000;
  return std::abs(value) >= kManyDigits && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                                  : significant(value, 3);
}

}  // namespace gpuexp
