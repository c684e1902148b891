#include "family/tolerance.hpp"

#include <cmath>

namespace gpuexp {

namespace {

const double kLn2 = std::log(2.0);

}  // namespace

double rms_allowed(const Tolerance& tolerance, double value_rms, double largest_allowed,
                   std::int64_t count) {
  constexpr double kNegativeLogOfChance = 32.0;
  return tolerance.rms_absolute + tolerance.rms_relative * value_rms +
         largest_allowed * std::sqrt(kNegativeLogOfChance / static_cast<double>(count));
}

double rms_over_allowed(double rms_error, double allowed) {
  return rms_error == 0.0 ? 0.0 : rms_error / allowed;
}

double rounding_rms(DataType type) {
  return unit_roundoff(type) / std::sqrt(8.0 * kLn2);
}

double sum_rms(std::int64_t terms, DataType type) {
  return rounding_rms(type) * std::sqrt(0.5 * static_cast<double>(terms) + 1.0);
}

}  // namespace gpuexp
