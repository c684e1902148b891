// Which sectors L1 holds, or will when they arrive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace gpuexp {

/// Lines of four sectors in sets of sixteen, of which any makes way but those that were used just
/// now. What an H100 and an H200 do is not documented; this comes to how often they lose lines that
/// wait for their second use among so many others (docs/studies/caches, L1 eviction policy).
class SectorCache {
 public:
  explicit SectorCache(std::int64_t bytes)
      : sets_(static_cast<std::size_t>(bytes / (kLineBytes * std::int64_t{kWays}))) {
    constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
    if (!sets_.empty()) reciprocal_ = (kOne - 1) / sets_.size() + 1;
  }

  /// All its lines are others', as a launch leaves it that has run for long.
  void fill_with_others() {
    uses_ += kSafeUses + 1;
    for (Set& set : sets_)
      set.used.fill(uses_ - kSafeUses);
  }

  static constexpr std::uint64_t kSectors = 4;
  /// When its sectors are there.
  using Line = std::array<double, kSectors>;
  /// Of a sector that it does not have, and the caller asks for.
  static constexpr double kAbsent = std::numeric_limits<double>::infinity();
  /// The sector's line, until the next is put; null: it has none of it.
  Line* find(std::uint64_t sector) {
    if (!has_line(sector)) return nullptr;
    use_last();
    return &last_.set->there[last_.way];
  }

  void drop_all() { sets_.assign(sets_.size(), {}); }

  /// Whether it holds the sector's line, with whatever of its sectors.
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

  /// The sector will be there at `when`. As find().
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
  static constexpr std::uint64_t kSafeUses = 128;  // of lines, one after the other
  static constexpr std::size_t kKnown = 1024;

  struct Set {
    Set() { numbers.fill(~std::uint64_t{0}); }

    std::array<std::uint64_t, kWays> numbers;  ///< of lines
    std::array<std::uint64_t, kWays> used{};   ///< when, in uses of lines; 0: the way is free
    std::array<Line, kWays> there{};
  };
  struct Place {
    Set* set = nullptr;
    std::size_t way = 0;
  };

  // Sectors of a line follow each other, and are one use of it.
  void use_last() {
    std::uint64_t& used = last_.set->used[last_.way];
    if (used != uses_) used = ++uses_;
  }

  // A free one, else one that may make way, else the one that was used longest ago.
  std::size_t way_for_new(const Set& set) {
    std::array<std::size_t, kWays> may;
    std::size_t count = 0;
    for (std::size_t way = 0; way < kWays; ++way) {
      if (set.used[way] == 0) return way;
      may[count] = way;
      count += set.used[way] + kSafeUses <= uses_;
    }
    if (count > 0) return may[draw_() % count];
    const auto oldest = std::min_element(set.used.begin(), set.used.end());
    return static_cast<std::size_t>(oldest - set.used.begin());
  }

  // Folded, so that rows of a matrix whose pitch is a power of two do not share sets. Where buffers
  // begin differs from run to run, by multiples of 8 GiB (simulated/host_memory): what lies beyond
  // decides nothing. Lines of different 2 MiB are that many sets apart, and not in one.
  Set& set_of(std::uint64_t line) {
    constexpr std::uint64_t kLinesOf2MiB = 1 << 14;
    constexpr std::uint64_t kLinesOf8GiB = 1 << 26;
    const auto within = static_cast<std::uint32_t>(line % kLinesOf2MiB);
    const auto before = static_cast<std::uint32_t>(line % kLinesOf8GiB / kLinesOf2MiB);
    const std::uint32_t row = over_sets(within);
    const std::uint32_t folded = (within ^ row ^ over_sets(row)) + before + over_sets(before);
    return sets_[folded - over_sets(folded) * sets_.size()];
  }

  // The quotient, of what is below 2^15 (Granlund and Montgomery, Division by Invariant Integers
  // using Multiplication, PLDI 1994).
  std::uint32_t over_sets(std::uint32_t n) const {
    return static_cast<std::uint32_t>(n * reciprocal_ >> 32);
  }

  std::vector<Set> sets_;
  std::uint64_t reciprocal_ = 0;  ///< 2^32 over how many there are, rounded up
  std::uint64_t uses_ = 1;        // since a way that is free has 0
  std::minstd_rand draw_;
  std::array<Place, kKnown> known_;  ///< where lines were found: most are still there
  Place last_;  ///< of the line that was found last: sectors of a warp follow each other
};

}  // namespace gpuexp
