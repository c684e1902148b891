// From numbers to places along an axis of a figure.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

enum class ScaleKind {
  linear,
  decades,       ///< logarithmic, ticks at 1, 2 and 5 times powers of ten
  powers_of_two  ///< logarithmic, ticks at the values or at powers of two: "64Ki"
};

class SvgScale {
 public:
  /// `low` is at `from` and `high` at `to`; of logarithmic scales both are above 0.
  SvgScale(ScaleKind kind, double low, double high, double from, double to);

  double at(double value) const;
  /// Round numbers from low to high, about `most` of them at most.
  std::vector<double> ticks(std::size_t most) const;
  std::string tick_text(double value) const;
  ScaleKind kind() const { return kind_; }

 private:
  std::vector<double> linear_ticks(std::size_t most) const;
  std::vector<double> decade_ticks(std::size_t most) const;
  std::vector<double> power_ticks(std::size_t most) const;

  ScaleKind kind_;
  double low_;
  double high_;
  double from_;
  double to_;
};

/// What spreads the values: powers of two in equal steps where values grow by factors or span very
/// many, else linear.
ScaleKind scale_for(std::vector<double> values);

/// 4096, 64Ki, 32Mi; what is no multiple of these, and not whole, in four digits.
std::string binary_text(double value);

/// Three digits, and no exponent where digits will do: 0.501, 36.4, 4080.
std::string short_number(double value);

}  // namespace gpuexp
