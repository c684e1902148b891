#include "timing/atomic_units.hpp"

#include <algorithm>

#include "timing/latency_spread.hpp"

namespace gpuexp {

namespace {

/// Maximum number of an SM's requests that L2 has not executed; further requests wait in the SM.
/// The number is an assumption. It matters if several lanes of each request add to one word
/// (spmv/coo_atomics).
constexpr std::size_t kMaxOutstanding = 64;

constexpr unsigned kSectorShift = 5;

/// A slice for the sector. Physical addresses decide which slice it is, so a hash draws the two
/// slices of each KiB. It uses only the low 16 bits of the number of the KiB, because buffers have
/// other addresses in each run.
std::size_t slice_of(std::uint64_t sector, std::size_t slices) {
  constexpr std::uint64_t kWithinBuffer = (1u << 16) - 1;
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  const std::uint64_t part = part_in_one_slice(sector);
  const std::uint64_t hash = ((part / 2 & kWithinBuffer) + 1) * kMultiplier;
  const std::size_t pair = static_cast<std::size_t>((hash >> 32) * (slices / 2) >> 32);
  return 2 * pair + part % 2;
}

}  // namespace

AtomicOperations atomic_operations(const sim::MemoryAccess& access) {
  struct Sector {
    std::uint64_t number = 0;
    unsigned most = 0;  ///< lanes that access one address of the sector
  };
  std::array<Sector, sim::kLanes> sectors;
  std::size_t sector_count = 0;
  sim::LaneMask left = access.lanes;
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    if (!(left >> lane & 1)) continue;
    unsigned same = 0;
    for (unsigned other = lane; other < sim::kLanes; ++other) {
      if (!(left >> other & 1) || access.address[other] != access.address[lane]) continue;
      left &= ~(sim::LaneMask{1} << other);
      ++same;
    }
    const std::uint64_t number = access.address[lane] >> kSectorShift;
    auto* const end = sectors.begin() + sector_count;
    auto* sector =
        std::find_if(sectors.begin(), end, [&](const Sector& s) { return s.number == number; });
    if (sector == end) {
      *sector = {number, 0};
      ++sector_count;
    }
    sector->most = std::max(sector->most, same);
  }
  AtomicOperations all;
  all.sectors = static_cast<double>(sector_count);
  for (std::size_t i = 0; i < sector_count; ++i) {
    const std::size_t slice = slice_of(sectors[i].number, AtomicUnits::kSlices);
    auto* const end = all.slices.begin() + all.count;
    auto* of =
        std::find_if(all.slices.begin(), end, [&](const auto& s) { return s.slice == slice; });
    if (of == end) {
      *of = {slice, 0};
      ++all.count;
    }
    of->operations += sectors[i].most;
  }
  return all;
}

AtomicUnits::Times AtomicUnits::serve(double when, const sim::MemoryAccess& access) {
  if (outstanding_.size() == kMaxOutstanding) {
    when = std::max(when, outstanding_.top());
    outstanding_.pop();
  }
  const AtomicOperations all = atomic_operations(access);
  double end = path_.serve(when, all.sectors * rates_.sector_clocks);
  for (std::size_t i = 0; i < all.count; ++i) {
    const auto& [slice, operations] = all.slices[i];
    end = std::max(end, slices_[slice].serve(when, operations * rates_.operation_clocks));
  }
  outstanding_.push(end);
  return {when, end};
}

double AtomicUnits::busy() const {
  double most = path_.busy();
  for (const Server& slice : slices_)
    most = std::max(most, slice.busy());
  return most;
}

double AtomicUnits::last() const {
  double last = path_.free_at();
  for (const Server& slice : slices_)
    last = std::max(last, slice.free_at());
  return last;
}

}  // namespace gpuexp
