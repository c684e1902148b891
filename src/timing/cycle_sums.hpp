// Sums of a quantity per cycle, for recent cycles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuexp {

/// Keeps 8192 cycles, more than any load waits.
class CycleSums {
 public:
  void add(double when, double amount) {
    if (clocks_.empty()) clocks_.resize(kKept);
    const double first = std::floor(when);
    const auto number = static_cast<std::int64_t>(first);
    of(number) += amount * (first + 1 - when);
    of(number + 1) += amount * (when - first);
  }

  double sum(double from, double clocks) const {
    if (clocks_.empty()) return 0;
    double sum = 0;
    const double end = from + clocks;
    for (double first = std::floor(from); first < end; ++first) {
      const auto number = static_cast<std::int64_t>(first);
      const Clock& clock = clocks_[place_of(number)];
      if (clock.number == number)
        sum += clock.amount * (std::min(first + 1, end) - std::max(first, from));
    }
    return sum;
  }

 private:
  struct Clock {
    std::int64_t number = -1;
    double amount = 0;
  };

  static constexpr std::size_t kKept = std::size_t{1} << 13;
  static std::size_t place_of(std::int64_t number) {
    return static_cast<std::size_t>(number) % kKept;
  }
  double& of(std::int64_t number) {
    Clock& clock = clocks_[place_of(number)];
    if (clock.number != number) clock = {number, 0};
    return clock.amount;
  }

  std::vector<Clock> clocks_;
};

}  // namespace gpuexp
