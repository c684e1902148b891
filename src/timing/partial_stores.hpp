// Joins stores to parts of a sector on their way from an SM to L2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "device/hardware_sizes.hpp"

namespace gpuexp {

/// Lines with sectors that the SM's last stores wrote in part. A store to a part of a sector joins
/// an earlier store of the same warp to the sector, so that L2 receives one sector for both, if the
/// earlier store was at most kMaxClocks ago and the SM has not stored parts of sectors of kLines
/// other lines since. Stores of whole sectors do not join. Stores of two warps join if no other
/// warps store, but hardly ever among 32 warps, so the model does not join them
/// (docs/studies/caches/README.md, partly written sectors).
class PartialStores {
 public:
  /// Records the warp's store to a part of the sector at `now`. Returns whether it joins an earlier
  /// store. `waits_for_l2` states that L2 accepts stores more slowly than the SM issues them: stores
  /// then wait in the queues of the schedulers, which take turns, so that stores of other warps, if
  /// there are any, follow each store.
  bool joins(std::uint64_t warp, std::uint64_t sector, double now, bool waits_for_l2) {
    has_several_warps_ = has_several_warps_ || (last_warp_ && last_warp_ != warp);
    last_warp_ = warp;
    const std::size_t kept = waits_for_l2 && has_several_warps_ ? kLines / kSchedulers : kLines;
    constexpr std::uint64_t kSectors = 4;
    const std::uint64_t number = sector / kSectors;
    const unsigned bit = 1u << sector % kSectors;
    std::size_t i = 0;
    while (i + 1 < kLines && (lines_[i].number != number || lines_[i].warp != warp))
      ++i;
    Line line = lines_[i];
    if (line.number != number || line.warp != warp || now - line.when > kMaxClocks)
      line = {warp, number, 0, now};
    const bool joins = i < kept && (line.sectors & bit) != 0;
    line.sectors |= bit;
    line.when = now;
    for (; i > 0; --i)
      lines_[i] = lines_[i - 1];
    lines_[0] = line;
    return joins;
  }

 private:
  static constexpr std::size_t kLines = 16;
  static constexpr auto kSchedulers = static_cast<std::size_t>(kSchedulersPerSm);
  /// Measured: parts that follow after 32 cycles join, parts that follow after 100 cycles do not.
  /// The value in between is an assumption.
  static constexpr double kMaxClocks = 64;

  struct Line {
    std::uint64_t warp = 0;
    std::uint64_t number = ~std::uint64_t{0};
    unsigned sectors = 0;  ///< bit i: the line's i-th sector was written in part
    double when = 0;
  };
  std::array<Line, kLines> lines_;  ///< latest store first
  std::optional<std::uint64_t> last_warp_;
  bool has_several_warps_ = false;
};

}  // namespace gpuexp
