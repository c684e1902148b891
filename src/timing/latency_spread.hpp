// Distribution of the latencies of cache lines. A warp waits for the slowest of its lines, and a
// block for its slowest warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuexp {

/// Quantiles of a line's latency, divided by the mean latency of all lines. `ratios` are the values
/// at kShares.
struct LatencySpread {
  static constexpr std::size_t kKnots = 13;
  static constexpr std::array<double, kKnots> kShares{0,   0.01, 0.05, 0.1,  0.25,  0.5, 0.75,
                                                      0.9, 0.95, 0.98, 0.99, 0.999, 1};
  std::array<double, kKnots> ratios{};

  /// Quantile at a share from 0 to 1, interpolated linearly between the knots.
  double at(double share) const {
    std::size_t i = 1;
    while (i + 1 < kKnots && kShares[i] < share)
      ++i;
    const double part = (share - kShares[i - 1]) / (kShares[i] - kShares[i - 1]);
    return ratios[i - 1] + part * (ratios[i] - ratios[i - 1]);
  }
};

inline constexpr LatencySpread kNoSpread{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

// Measured on an H200, and similar on an H100 (docs/studies/warp_scheduling/latency_spread.csv).
// Other GPUs are assumed to be similar. The cause of slow lines is not documented.
inline constexpr LatencySpread kL2Spread{
    {0.867, 0.891, 0.908, 0.922, 0.946, 0.993, 1.054, 1.085, 1.102, 1.119, 1.129, 1.150, 1.167}};
inline constexpr LatencySpread kDramSpread{
    {0.717, 0.740, 0.760, 0.773, 0.809, 1.002, 1.073, 1.240, 1.441, 1.602, 1.676, 1.781, 2.000}};

/// Uniformly distributed pseudorandom numbers from 0 to 1. Equal seeds give equal sequences.
class ShareDraw {
 public:
  static constexpr std::size_t kMaxSkipped = 64;

  explicit ShareDraw(std::uint64_t first = 1) : state_(first) {}

  double next() {
    pass(1);
    return share_of(state_);
  }
  /// Returns the result of the `count`-th call of next(), 1 to kMaxSkipped, without advancing.
  double peek(std::size_t count) const { return share_of(kSteps[count].from(state_)); }
  void pass(std::size_t count) { state_ = kSteps[count].from(state_); }

 private:
  /// Step of a linear congruential generator. A sequence of steps is one step with other factors.
  struct Step {
    std::uint64_t factor = 1;
    std::uint64_t more = 0;
    constexpr std::uint64_t from(std::uint64_t state) const { return state * factor + more; }
  };
  static constexpr std::array<Step, kMaxSkipped + 1> steps() {
    constexpr Step kOne{6364136223846793005u, 1442695040888963407u};  // Knuth's MMIX
    std::array<Step, kMaxSkipped + 1> steps;
    for (std::size_t i = 1; i < steps.size(); ++i)
      steps[i] = {steps[i - 1].factor * kOne.factor, kOne.from(steps[i - 1].more)};
    return steps;
  }
  static const std::array<Step, kMaxSkipped + 1> kSteps;
  static double share_of(std::uint64_t state) { return static_cast<double>(state >> 11) * 0x1p-53; }

  std::uint64_t state_;
};
inline constexpr std::array<ShareDraw::Step, ShareDraw::kMaxSkipped + 1> ShareDraw::kSteps =
    ShareDraw::steps();

/// Number of the half KiB with the sector that one slice of L2 stores; the halves of a KiB have
/// successive numbers. An H200 stores lines 0, 1, 4 and 5 of each aligned KiB in one slice, and the
/// other four in another slice, whose distance from the SM is unrelated
/// (docs/studies/shared_memory/latency_of_neighbours.csv, docs/studies/atomics/lines.csv).
constexpr std::uint64_t part_in_one_slice(std::uint64_t sector) {
  constexpr std::uint64_t kSectorsPerKib = 32;
  constexpr std::uint64_t kSectorsPerPair = 8;
  return sector / kSectorsPerKib * 2 + sector / kSectorsPerPair % 2;
}

/// Latency quantiles of lines in L2 or in DRAM, as shares from 0 to 1. Lines in one slice have
/// equal latencies: their requests take the same path, and consecutive lines of DRAM are in one row.
class SliceShares {
 public:
  /// The share of the sector's line; `drawn` if none of the last 32 slices is the line's slice.
  double of(std::uint64_t sector, double drawn) {
    const std::uint64_t slice = part_in_one_slice(sector);
    for (std::size_t i = 0; i < kKept; ++i) {
      if (slices_[i] == slice) return shares_[i];
    }
    slices_[next_] = slice;
    shares_[next_] = drawn;
    next_ = (next_ + 1) % kKept;
    return drawn;
  }

 private:
  static constexpr std::size_t kKept = 32;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::array<std::uint64_t, kKept> slices_ = filled();
  std::array<double, kKept> shares_{};
  std::size_t next_ = 0;

  static constexpr std::array<std::uint64_t, kKept> filled() {
    std::array<std::uint64_t, kKept> none;
    none.fill(kNone);
    return none;
  }
};

}  // namespace gpuexp
