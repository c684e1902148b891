#include "sim/access_counts.hpp"

#include <algorithm>
#include <array>

namespace gpuexp::sim {

namespace {

// 32-byte sectors that the lanes touch, each once.
std::uint64_t sectors_of(const Lanes64& address, LaneMask lanes) {
  constexpr unsigned kSectorShift = 5;
  std::array<std::uint64_t, kLanes> sectors;
  std::size_t count = 0;
  for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t sector = address[l] >> kSectorShift;
    if (count == 0 || sectors[count - 1] != sector) sectors[count++] = sector;
  });
  std::sort(sectors.begin(), sectors.begin() + count);
  return static_cast<std::uint64_t>(std::unique(sectors.begin(), sectors.begin() + count) -
                                    sectors.begin());
}

}  // namespace

MemoryCounts& MemoryCounts::operator+=(const MemoryCounts& more) {
  load_requests += more.load_requests;
  load_sectors += more.load_sectors;
  store_requests += more.store_requests;
  store_sectors += more.store_sectors;
  return *this;
}

void count(MemoryCounts& counts, const MemoryAccess& access) {
  if (access.space != Space::global) return;
  switch (access.kind) {
    case Access::load:
    case Access::async_load:
      ++counts.load_requests;
      counts.load_sectors += sectors_of(access.address, access.lanes);
      break;
    case Access::store:
      ++counts.store_requests;
      counts.store_sectors += sectors_of(access.address, access.lanes);
      break;
    case Access::atomic:
    case Access::async_store:
    case Access::bulk_load:
    case Access::bulk_store:
    case Access::matrix_load: break;
  }
}

}  // namespace gpuexp::sim
