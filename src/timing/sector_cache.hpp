// Which sectors L1 holds, or will when they arrive.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace gpuexp {

/// Lines of four sectors in sets of eight, of which the one that was used longest ago makes way.
class SectorCache {
 public:
  explicit SectorCache(std::int64_t bytes)
      : sets_(static_cast<std::size_t>(bytes / (kLineBytes * std::int64_t{kWays}))),
        lines_(sets_ * kWays) {}

  /// When the sector is there; empty of it: never, and the caller asks for it.
  static constexpr double kAbsent = std::numeric_limits<double>::infinity();
  double find(std::uint64_t sector) {
    Line* const line = line_of(sector);
    if (!line) return kAbsent;
    line->used = ++uses_;
    return line->there[sector % kSectors];
  }

  void drop_all() { lines_.assign(lines_.size(), {}); }

  /// Whether it holds the sector's line, with whatever of its sectors.
  bool has_line(std::uint64_t sector) { return line_of(sector) != nullptr; }

  static bool share_line(std::uint64_t a, std::uint64_t b) { return a / kSectors == b / kSectors; }

  /// The sector will be there at `when`.
  void put(std::uint64_t sector, double when) {
    if (sets_ == 0) return;
    Line* line = line_of(sector);
    if (!line) {
      line = oldest_of(sector);
      line->number = sector / kSectors;
      line->there.fill(kAbsent);
    }
    line->used = ++uses_;
    line->there[sector % kSectors] = when;
  }

 private:
  static constexpr std::int64_t kLineBytes = 128;
  static constexpr std::size_t kWays = 8;  // not documented
  static constexpr std::uint64_t kSectors = 4;

  struct Line {
    std::uint64_t number = ~std::uint64_t{0};
    std::uint64_t used = 0;
    std::array<double, kSectors> there{};
  };

  // Folded, so that rows of a matrix whose pitch is a power of two do not share sets. Buffers begin
  // at multiples of 2 MiB, and where differs from run to run: what lies beyond decides nothing.
  Line* set_of(std::uint64_t line) {
    constexpr std::uint64_t kLinesOf2MiB = 1 << 14;
    const std::uint64_t within = line % kLinesOf2MiB;
    return &lines_[(within ^ within / sets_) % sets_ * kWays];
  }
  Line* line_of(std::uint64_t sector) {
    if (sets_ == 0) return nullptr;
    Line* const set = set_of(sector / kSectors);
    for (std::size_t way = 0; way < kWays; ++way) {
      if (set[way].number == sector / kSectors) return &set[way];
    }
    return nullptr;
  }
  Line* oldest_of(std::uint64_t sector) {
    Line* const set = set_of(sector / kSectors);
    Line* oldest = set;
    for (std::size_t way = 1; way < kWays; ++way) {
      if (set[way].used < oldest->used) oldest = &set[way];
    }
    return oldest;
  }

  std::size_t sets_;
  std::vector<Line> lines_;
  std::uint64_t uses_ = 0;
};

}  // namespace gpuexp
