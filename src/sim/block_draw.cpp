#include "sim/block_draw.hpp"

#include <algorithm>
#include <utility>

#include "sim/fault.hpp"

namespace gpuexp::sim {

struct BlockDraw::Region {
  Extent begin;
  Extent size;

  std::int64_t number(std::int64_t i, const Extent& grid) const {
    const Extent at = place_at(size, i);
    return number_in(grid, {begin.x + at.x, begin.y + at.y, begin.z + at.z});
  }
  bool has(std::int64_t number, const Extent& grid) const {
    const Extent at = place_at(grid, number);
    return at.x >= begin.x && at.x < begin.x + size.x && at.y >= begin.y &&
           at.y < begin.y + size.y && at.z >= begin.z && at.z < begin.z + size.z;
  }
};

BlockDraw::BlockDraw(const Extent& grid, std::uint64_t seed, std::vector<std::int64_t> required)
    : grid_(grid), random_(seed), required_(std::move(required)) {
  std::sort(required_.begin(), required_.end());
  required_.erase(std::unique(required_.begin(), required_.end()), required_.end());
}

std::vector<Stratum> BlockDraw::draw(std::int64_t intervals) {
  std::vector<Stratum> strata;
  if (before_.empty()) {
    for (const std::int64_t number : required_)
      strata.push_back({tails_of(number), 1, {number}});
    before_ = now_ = required_;
  }
  constexpr int kDimensions = 3;
  for (int tails = 0; tails < 1 << kDimensions; ++tails) {
    Region region;
    const auto cut = [&](int dimension, std::int64_t blocks, std::int64_t& begin,
                         std::int64_t& size) {
      const bool is_tail = tails >> dimension & 1;
      // A dimension with one block has no tail.
      begin = is_tail ? blocks - 1 : 0;
      size = is_tail ? (blocks > 1 ? 1 : 0) : std::max<std::int64_t>(1, blocks - 1);
    };
    cut(0, grid_.x, region.begin.x, region.size.x);
    cut(1, grid_.y, region.begin.y, region.size.y);
    cut(2, grid_.z, region.begin.z, region.size.z);
    const std::int64_t blocks = region.size.count();
    const std::int64_t parts = std::min(intervals, (blocks + 1) / 2);
    for (std::int64_t part = 0; part < parts; ++part) {
      Stratum stratum = draw(region, blocks * part / parts, blocks * (part + 1) / parts);
      stratum.tails = tails;
      if (stratum.blocks > 0) strata.push_back(std::move(stratum));
    }
  }
  before_ = now_;
  std::sort(before_.begin(), before_.end());
  return strata;
}

int BlockDraw::tails_of(std::int64_t number) const {
  const auto is_last = [](std::int64_t i, std::int64_t blocks) {
    return blocks > 1 && i == blocks - 1;
  };
  const Extent at = place_at(grid_, number);
  return is_last(at.x, grid_.x) | is_last(at.y, grid_.y) << 1 | is_last(at.z, grid_.z) << 2;
}

Stratum BlockDraw::draw(const Region& region, std::int64_t first, std::int64_t end) {
  Stratum stratum;
  stratum.blocks = end - first;
  const std::int64_t last_number = region.number(end - 1, grid_);
  for (auto known = std::lower_bound(before_.begin(), before_.end(), region.number(first, grid_));
       known != before_.end() && *known <= last_number; ++known)
    stratum.blocks -= region.has(*known, grid_);
  const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(2, stratum.blocks));
  std::uniform_int_distribution<std::int64_t> any(first, end - 1);
  while (stratum.drawn.size() < wanted) {
    const std::int64_t number = region.number(any(random_), grid_);
    if (std::binary_search(before_.begin(), before_.end(), number) ||
        std::count(stratum.drawn.begin(), stratum.drawn.end(), number) > 0)
      continue;
    stratum.drawn.push_back(number);
    now_.push_back(number);
  }
  return stratum;
}

}  // namespace gpuexp::sim
