#include "run/rounds.hpp"

#include <algorithm>
#include <numeric>

#include "base/random_bits.hpp"

namespace gpuexp {

std::vector<std::size_t> round_order(std::size_t count, std::uint64_t seed, std::size_t group,
                                     int round) {
  const std::uint64_t own = random_bits(seed + group, 0) + static_cast<std::uint64_t>(round);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Fisher-Yates, because std::shuffle differs between platforms. The modulo bias is below 2^-50
  // for groups of up to 2^14 cells.
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[random_bits(own, count - i) % i]);
  return order;
}

bool is_look(const MeasureSettings& settings, std::size_t before, std::size_t now) {
  constexpr std::size_t kMinMoreSamples = 5;
  auto look = static_cast<std::size_t>(settings.min_samples);
  while (look <= before)
    look += std::max(kMinMoreSamples, look / 4);
  return now >= look;
}

StopReason cap_reached(const MeasureSettings& settings, std::size_t samples, double elapsed_s) {
  if (samples >= static_cast<std::size_t>(settings.max_samples)) return StopReason::max_samples;
  if (elapsed_s >= settings.max_seconds) return StopReason::max_seconds;
  return StopReason::none;
}

bool is_converged(const Statistics& statistics, double target_relative_ci, double quantum_us) {
  if (!statistics.median_ci95) return false;
  const double half_width = (statistics.median_ci95->high - statistics.median_ci95->low) / 2;
  return half_width <= std::max(target_relative_ci * statistics.median, quantum_us);
}

}  // namespace gpuexp
