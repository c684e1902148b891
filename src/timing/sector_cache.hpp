// Which sectors L1 holds, or will when they arrive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gpuexp {

/// Lines of four sectors in sets of eight, of which the one that was used longest ago makes way.
class SectorCache {
 public:
  explicit SectorCache(std::int64_t bytes)
      : sets_(static_cast<std::size_t>(bytes / (kLineBytes * std::int64_t{kWays}))) {}

  /// When the sector is there; empty of it: never, and the caller asks for it.
  static constexpr double kAbsent = std::numeric_limits<double>::infinity();
  double find(std::uint64_t sector) {
    if (!has_line(sector)) return kAbsent;
    last_.set->used[last_.way] = ++uses_;
    return last_.set->there[last_.way][sector % kSectors];
  }

  void drop_all() { sets_.assign(sets_.size(), {}); }

  /// Whether it holds the sector's line, with whatever of its sectors.
  bool has_line(std::uint64_t sector) {
    if (sets_.empty()) return false;
    const std::uint64_t number = sector / kSectors;
    if (last_.set && last_.set->numbers[last_.way] == number) return true;
    Set& set = set_of(number);
    const auto found = std::find(set.numbers.begin(), set.numbers.end(), number);
    if (found == set.numbers.end()) return false;
    last_ = {&set, static_cast<std::size_t>(found - set.numbers.begin())};
    return true;
  }

  static bool share_line(std::uint64_t a, std::uint64_t b) { return a / kSectors == b / kSectors; }

  /// The sector will be there at `when`.
  void put(std::uint64_t sector, double when) {
    if (sets_.empty()) return;
    if (!has_line(sector)) {
      Set& set = set_of(sector / kSectors);
      const auto oldest = std::min_element(set.used.begin(), set.used.end());
      last_ = {&set, static_cast<std::size_t>(oldest - set.used.begin())};
      set.numbers[last_.way] = sector / kSectors;
      set.there[last_.way].fill(kAbsent);
    }
    last_.set->used[last_.way] = ++uses_;
    last_.set->there[last_.way][sector % kSectors] = when;
  }

 private:
  static constexpr std::int64_t kLineBytes = 128;
  static constexpr std::size_t kWays = 8;  // not documented
  static constexpr std::uint64_t kSectors = 4;

  struct Set {
    Set() { numbers.fill(~std::uint64_t{0}); }

    std::array<std::uint64_t, kWays> numbers;  ///< of lines; they fill a cache line of the host
    std::array<std::uint64_t, kWays> used{};
    std::array<std::array<double, kSectors>, kWays> there{};
  };
  struct Place {
    Set* set = nullptr;
    std::size_t way = 0;
  };

  // Folded, so that rows of a matrix whose pitch is a power of two do not share sets. Where buffers
  // begin differs from run to run, by multiples of 8 GiB (simulated/host_memory): what lies beyond
  // decides nothing. Lines of different 2 MiB are that many sets apart, and not in one.
  Set& set_of(std::uint64_t line) {
    constexpr std::uint64_t kLinesOf2MiB = 1 << 14;
    constexpr std::uint64_t kLinesOf8GiB = 1 << 26;
    const auto sets = static_cast<std::uint32_t>(sets_.size());
    const auto within = static_cast<std::uint32_t>(line % kLinesOf2MiB);
    const auto before = static_cast<std::uint32_t>(line % kLinesOf8GiB / kLinesOf2MiB);
    return sets_[((within ^ within / sets) + before + before / sets) % sets];
  }

  std::vector<Set> sets_;
  std::uint64_t uses_ = 0;
  Place last_;  ///< of the line that was found last: sectors of a warp follow each other
};

}  // namespace gpuexp
