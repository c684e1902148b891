// How far the latencies of single lines lie around their mean: a warp waits for the last line that
// it has asked for, and a block for its last warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuexp {

/// The latency of a line over the mean of all lines, by the share of lines that take no longer.
struct LatencySpread {
  static constexpr std::size_t kKnots = 13;
  static constexpr std::array<double, kKnots> kShares{0,   0.01, 0.05, 0.1,  0.25,  0.5, 0.75,
                                                      0.9, 0.95, 0.98, 0.99, 0.999, 1};
  std::array<double, kKnots> ratios{};

  /// `share` is from 0 to 1; linear between the knots.
  double at(double share) const {
    std::size_t i = 1;
    while (i + 1 < kKnots && kShares[i] < share)
      ++i;
    const double part = (share - kShares[i - 1]) / (kShares[i] - kShares[i - 1]);
    return ratios[i - 1] + part * (ratios[i] - ratios[i - 1]);
  }
};

inline constexpr LatencySpread kNoSpread{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

// Measured on an H200, and alike on an H100: docs/results/h200/studies/latency_spread.csv. Other
// GPUs are taken to be alike. What makes a line slow is not documented.
inline constexpr LatencySpread kL2Spread{
    {0.867, 0.891, 0.908, 0.922, 0.946, 0.993, 1.054, 1.085, 1.102, 1.119, 1.129, 1.150, 1.167}};
inline constexpr LatencySpread kDramSpread{
    {0.717, 0.740, 0.760, 0.773, 0.809, 1.002, 1.073, 1.240, 1.441, 1.602, 1.676, 1.781, 2.000}};

/// Shares from 0 to 1, each as likely as any other; the same in every run.
class ShareDraw {
 public:
  explicit ShareDraw(std::uint64_t first = 1) : state_(first) {}

  double next() {
    constexpr std::uint64_t kMultiplier = 6364136223846793005u;  // Knuth's MMIX
    constexpr std::uint64_t kIncrement = 1442695040888963407u;
    state_ = state_ * kMultiplier + kIncrement;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gpuexp
