// Model of L1: the sectors that L1 holds or is loading.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace gpuexp {

/// Lines of four sectors in sets of sixteen lines. Evicts a random line of the set among the lines
/// that were not used recently. The policy of an H100 and an H200 is not documented; this policy
/// loses about as many lines before their second use as these GPUs do (docs/studies/caches, L1
/// eviction policy).
class SectorCache {
 public:
  explicit SectorCache(std::int64_t bytes)
      : sets_(static_cast<std::size_t>(bytes / (kLineBytes * std::int64_t{kWays}))) {
    constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
    if (!sets_.empty()) reciprocal_ = (kOne - 1) / sets_.size() + 1;
  }

  /// Fills the cache with lines that no access finds, to represent L1 late in a launch.
  void fill_with_others() {
    uses_ += kSafeUses + 1;
    for (Set& set : sets_)
      set.used.fill(uses_ - kSafeUses);
  }

  static constexpr std::uint64_t kSectors = 4;
  using Line = std::array<double, kSectors>;
  /// Arrival of an absent sector, which the caller requests.
  static constexpr double kAbsent = std::numeric_limits<double>::infinity();
  /// The sector's line, valid until the next put(); null if the cache lacks the line.
  Line* find(std::uint64_t sector) {
    if (!has_line(sector)) return nullptr;
    use_last();
    return &last_.set->there[last_.way];
  }

  void drop_all() { sets_.assign(sets_.size(), {}); }

  /// Whether L1 holds the sector's line, with at least one sector.
  bool has_line(std::uint64_t sector) {
    if (sets_.empty()) return false;
    const std::uint64_t number = sector / kSectors;
    if (last_.set && last_.set->numbers[last_.way] == number) return true;
    Place& known = known_[(number ^ number / kKnown) % kKnown];
    Place place = known;
    if (!place.set || place.set->numbers[place.way] != number) {
      Set& set = set_of(number);
      const auto found = std::find(set.numbers.begin(), set.numbers.end(), number);
      if (found == set.numbers.end()) return false;
      place = {&set, static_cast<std::size_t>(found - set.numbers.begin())};
      known = place;
    }
    last_ = place;
    return true;
  }

  static bool share_line(std::uint64_t a, std::uint64_t b) { return a / kSectors == b / kSectors; }

  /// Adds a sector that arrives at `when`. Returns the sector's line, as find() does.
  Line* put(std::uint64_t sector, double when) {
    if (sets_.empty()) return nullptr;
    if (!has_line(sector)) {
      Set& set = set_of(sector / kSectors);
      last_ = {&set, way_for_new(set)};
      set.numbers[last_.way] = sector / kSectors;
      set.there[last_.way].fill(kAbsent);
    }
    use_last();
    Line& line = last_.set->there[last_.way];
    line[sector % kSectors] = when;
    return &line;
  }

 private:
  static constexpr std::int64_t kLineBytes = 128;
  static constexpr std::size_t kWays = 16;
  // A line is kept for this number of later line uses, unless all lines of its set were used as
  // recently.
  static constexpr std::uint64_t kSafeUses = 128;
  static constexpr std::size_t kKnown = 1024;

  struct Set {
    Set() { numbers.fill(~std::uint64_t{0}); }

    std::array<std::uint64_t, kWays> numbers;
    /// Time of the last use, counted in line uses; 0: free way.
    std::array<std::uint64_t, kWays> used{};
    std::array<Line, kWays> there{};
  };
  struct Place {
    Set* set = nullptr;
    std::size_t way = 0;
  };

  void use_last() {
    std::uint64_t& used = last_.set->used[last_.way];
    if (used != uses_) used = ++uses_;
  }

  // Returns a free way, else a random way that may be evicted, else the least recently used way.
  std::size_t way_for_new(const Set& set) {
    std::array<std::size_t, kWays> candidates;
    std::size_t count = 0;
    for (std::size_t way = 0; way < kWays; ++way) {
      if (set.used[way] == 0) return way;
      candidates[count] = way;
      count += set.used[way] + kSafeUses <= uses_;
    }
    if (count > 0) return candidates[draw_() % count];
    const auto oldest = std::min_element(set.used.begin(), set.used.end());
    return static_cast<std::size_t>(oldest - set.used.begin());
  }

  // Hashes the line number, so that rows whose pitch is a power of two do not share sets. Ignores
  // address bits above 8 GiB, because buffer addresses differ between runs (sim/host_memory).
  // Adds the number of the 2 MiB region, so that equal offsets in two regions use different sets.
  Set& set_of(std::uint64_t line) {
    constexpr std::uint64_t kLinesOf2MiB = 1 << 14;
    constexpr std::uint64_t kLinesOf8GiB = 1 << 26;
    const auto within = static_cast<std::uint32_t>(line % kLinesOf2MiB);
    const auto before = static_cast<std::uint32_t>(line % kLinesOf8GiB / kLinesOf2MiB);
    const std::uint32_t row = div_by_sets(within);
    const std::uint32_t folded = (within ^ row ^ div_by_sets(row)) + before + div_by_sets(before);
    return sets_[folded - div_by_sets(folded) * sets_.size()];
  }

  // Divides n below 2^15 by the number of sets (Granlund and Montgomery, Division by Invariant
  // Integers using Multiplication, PLDI 1994).
  std::uint32_t div_by_sets(std::uint32_t n) const {
    return static_cast<std::uint32_t>(n * reciprocal_ >> 32);
  }

  std::vector<Set> sets_;
  std::uint64_t reciprocal_ = 0;  ///< 2^32 divided by the number of sets, rounded up
  std::uint64_t uses_ = 1;        // starts at 1, because 0 marks a free way
  std::minstd_rand draw_;
  std::array<Place, kKnown> known_;  ///< results of earlier lookups, most of which are still valid
  Place last_;  ///< line found last, because a warp's consecutive sectors share lines
};

}  // namespace gpuexp
