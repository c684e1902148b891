#include "model/l2_cache.hpp"

#include <algorithm>

namespace gpuexp {

std::int64_t l2_fetch_bytes(const DeviceSpec& device) {
  constexpr int kAmpere = 80;
  return device.compute_capability() >= kAmpere ? 64 : 32;
}

double written_back(double bytes, const DeviceSpec& device) {
  return std::max(0.0, bytes - kDirtyShare * static_cast<double>(device.l2_bytes));
}

double kept_share(double bytes, const DeviceSpec& device) {
  return kept_share_at(bytes / static_cast<double>(device.l2_bytes));
}

double kept_share_at(double times_l2) {
  constexpr double kAllUpTo = 0.35;
  constexpr double kNoneFrom = 2 * kHalfKept - kAllUpTo;
  return std::clamp((kNoneFrom - times_l2) / (kNoneFrom - kAllUpTo), 0.0, 1.0);
}

double seen_by_l2(double sectors, StallPattern stall_pattern) {
  constexpr double kInStep = 0.75;
  return stall_pattern == StallPattern::none ? sectors : kInStep * sectors;
}

namespace {

// A round of blocks is a group of rows in some columns, or several groups in all.
struct Round {
  explicit Round(const PanelWalk& walk)
      : tiles(std::min(walk.blocks_at_a_time, walk.rows * walk.columns)) {
    const double group = std::min({walk.group_rows, walk.rows, tiles});
    rows = std::max(group, std::min(walk.rows, tiles / walk.columns));
    bytes = rows * walk.row_panel_bytes + tiles / rows * walk.column_panel_bytes;
  }

  double tiles;
  double rows;
  double bytes;  ///< of the panels that it reads, each once
};

}  // namespace

double panel_bytes_read(const PanelWalk& walk, const DeviceSpec& device) {
  constexpr double kDrift = 1.4;
  const double l2 = static_cast<double>(device.l2_bytes);
  const double a = walk.rows * walk.row_panel_bytes;
  const double b = walk.columns * walk.column_panel_bytes;
  if (a + b + walk.output_bytes <= l2) return a + b;
  const double tiles = walk.rows * walk.columns;
  const Round round(walk);
  if (walk.stall_pattern == StallPattern::none && round.rows * walk.row_panel_bytes > l2)
    return tiles * walk.row_panel_bytes + b;
  const double drift = walk.stall_pattern == StallPattern::loads ? kDrift : 1;
  return std::max(a + b, drift * tiles / round.tiles * round.bytes);
}

double panel_bytes_asked(const PanelWalk& walk) {
  const Round round(walk);
  return walk.rows * walk.columns / round.tiles * round.bytes;
}

}  // namespace gpuexp
