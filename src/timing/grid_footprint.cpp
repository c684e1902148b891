#include "timing/grid_footprint.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "sim/global_memory.hpp"
#include "sim/grid_run.hpp"

namespace gpuexp {

namespace {

constexpr std::uint64_t kSector = 32;

using Addresses = std::map<std::uint32_t, PlaceAddresses>;
using Shifts = std::map<std::uint32_t, std::vector<std::int64_t>>;

bool have_equal_shifts(const GridPart& a, const GridPart& b) {
  return a.writes == b.writes && a.step == b.step && a.shifts == b.shifts &&
         a.within.begin == b.within.begin && !a.is_scattered && !b.is_scattered;
}

void add_part(GridFootprint& grid, GridPart part) {
  grid.phases = std::max(grid.phases, part.phases.size());
  const auto same = std::find_if(grid.parts.begin(), grid.parts.end(),
                                 [&](const GridPart& p) { return have_equal_shifts(p, part); });
  if (same == grid.parts.end()) {
    grid.parts.push_back(std::move(part));
    return;
  }
  same->phases.resize(std::max(same->phases.size(), part.phases.size()));
  for (std::size_t i = 0; i < part.phases.size(); ++i) {
    same->phases[i].insert(same->phases[i].end(), part.phases[i].begin(), part.phases[i].end());
    join(same->phases[i]);
  }
}

/// A block whose addresses are compared with the middle block's addresses.
struct Probe {
  Extent block;
  Addresses addresses;
};

class GridProbe {
 public:
  GridProbe(const sim::LaunchState& launch, const std::function<bool()>& stop)
      : launch_(launch),
        stop_(stop),
        first_warps_(launch),
        grid_{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
              launch.grid.z / launch.cluster.z} {}

  GridFootprint footprint() {
    constexpr std::int64_t kFewBlocks = 16;
    result_.grid = grid_;
    if (grid_.count() <= kFewBlocks) {
      execute_all();
      return std::move(result_);
    }
    // Executes the middle block, because the last block along a dimension may be partial.
    const Extent middle{(grid_.x - 1) / 2, (grid_.y - 1) / 2, (grid_.z - 1) / 2};
    result_.block = middle;
    std::vector<PlaceFootprint> places = footprint_of(launch_, middle, stop_);
    base_ = first_warps_.addresses(middle, false);
    const bool has_all = std::all_of(places.begin(), places.end(), [&](const PlaceFootprint& p) {
      return base_.count(p.place) == 1;
    });
    if (!has_all) base_ = addresses_of(places);
    probe(middle, has_all);
    for (PlaceFootprint& place : places) {
      add_part(result_, part_of(place));
      if (!result_.refusal.empty()) break;
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kDimensions = 3;
  static constexpr std::int64_t kMaxPeriod = 32;

  void execute_all() {
    result_.has_parts_of_each_block = true;
    for (std::int64_t i = 0; i < grid_.count(); ++i) {
      for (PlaceFootprint& place : footprint_of(launch_, sim::place_at(grid_, i), stop_)) {
        GridPart part = new_part(place);
        part.shifts.assign(static_cast<std::size_t>(grid_.count()), GridPart::kNothing);
        part.shifts[static_cast<std::size_t>(i)] = 0;
        add_part(result_, std::move(part));
      }
    }
  }

  // Addresses by instruction, from the ranges of all warps; used if the first warp does not execute
  // all memory instructions.
  static Addresses addresses_of(const std::vector<PlaceFootprint>& places) {
    Addresses addresses;
    for (const PlaceFootprint& place : places) {
      PlaceAddresses& at = addresses[place.place];
      at.first = ~std::uint64_t{0};
      for (const auto& ranges : place.phases) {
        if (!ranges.empty()) at.first = std::min(at.first, ranges.front().begin);
      }
      constexpr std::uint64_t kPrime = 0x100000001B3;
      PlaceAddresses::Hashes hashes;
      for (const auto& ranges : place.phases) {
        for (const ByteRange& range : ranges) {
          hashes.bytes = (hashes.bytes ^ (range.begin - at.first)) * kPrime;
          hashes.bytes = (hashes.bytes ^ (range.end - at.first)) * kPrime;
          hashes.sectors = (hashes.sectors ^ (range.begin / kSector - at.first / kSector)) * kPrime;
        }
      }
      at.after = {hashes};
    }
    return addresses;
  }

  void probe(const Extent& middle, bool by_first_warp) {
    const auto add = [&](const Extent& block) {
      probes_.push_back({block, by_first_warp ? first_warps_.addresses(block, false)
                                              : addresses_of(footprint_of(launch_, block, stop_))});
    };
    const auto extents = std::array{grid_.x, grid_.y, grid_.z};
    const auto at = std::array{middle.x, middle.y, middle.z};
    for (std::size_t d = 0; d < kDimensions; ++d) {
      if (extents[d] == 1) continue;
      std::array<std::int64_t, kDimensions> next = at;
      next[d] += at[d] > 0 ? -1 : 1;
      along_.push_back(d);
      add({next[0], next[1], next[2]});
    }
    // Further probes test whether the shifts between neighbours also apply to distant blocks.
    const auto share = [](std::int64_t extent, double of) {
      return static_cast<std::int64_t>(static_cast<double>(extent - 1) * of);
    };
    for (const auto& [x, y, z] :
         {std::array{0.77, 0.31, 0.6}, std::array{0.13, 0.83, 0.3}, std::array{0.9, 0.68, 0.1}})
      add({share(grid_.x, x), share(grid_.y, y), share(grid_.z, z)});
  }

  // Shift in bytes from the middle block's addresses to the probe's addresses; empty if their
  // access patterns differ.
  std::optional<std::int64_t> shift_of(const Probe& probe, std::uint32_t place) const {
    const auto other = probe.addresses.find(place);
    const PlaceAddresses& own = base_.at(place);
    if (other == probe.addresses.end()) return std::nullopt;
    // If blocks divide the work unevenly, some blocks execute more iterations than others.
    constexpr std::size_t kToleranceDivisor = 8;
    const auto [fewer, more] = std::minmax({own.after.size(), other->second.after.size()});
    if (more - fewer > std::max<std::size_t>(1, more / kToleranceDivisor)) return std::nullopt;
    const PlaceAddresses::Hashes here = own.hashes(other->second);
    const PlaceAddresses::Hashes there = other->second.hashes(own);
    if (there.bytes == here.bytes)
      return static_cast<std::int64_t>(other->second.first - own.first);
    if (there.sectors != here.sectors) return std::nullopt;
    return static_cast<std::int64_t>((other->second.first / kSector - own.first / kSector) *
                                     kSector);
  }

  GridPart part_of(PlaceFootprint& place) {
    GridPart part = new_part(place);
    std::vector<std::int64_t> shifts;
    for (const Probe& probe : probes_) {
      const auto shift = shift_of(probe, place.place);
      if (!shift) {
        part.is_scattered = true;
        return part;
      }
      shifts.push_back(*shift);
    }
    for (std::size_t i = 0; i < along_.size(); ++i) {
      const bool is_before = along_[i] == 0   ? probes_[i].block.x < result_.block.x
                             : along_[i] == 1 ? probes_[i].block.y < result_.block.y
                                              : probes_[i].block.z < result_.block.z;
      part.step[along_[i]] = is_before ? -shifts[i] : shifts[i];
    }
    bool is_linear = true;
    for (std::size_t i = 0; i < probes_.size(); ++i)
      is_linear &= result_.shift(part, sim::number_in(grid_, probes_[i].block)) == shifts[i];
    if (is_linear) return part;
    part.step = {};
    part.shifts = shifts_of_all(place.place, shifts);
    if (part.shifts.empty())
      result_.refusal = "how addresses depend on the block index is not known";
    return part;
  }

  GridPart new_part(PlaceFootprint& place) const {
    GridPart part;
    part.writes = place.writes;
    part.phases = std::move(place.phases);
    for (const auto& ranges : part.phases) {
      if (ranges.empty()) continue;
      const auto* const buffer = launch_.global->find(ranges.front().begin, 0);
      if (buffer) part.within = {buffer->begin(), buffer->end()};
    }
    return part;
  }

  /// Shifts by instruction and block, for the instructions that first warps execute before an
  /// instruction accesses global memory a second time.
  const Shifts& first_shifts() {
    if (first_shifts_.empty()) first_shifts_ = shifts_by_digits();
    for (std::int64_t period = 2; first_shifts_.empty() && period <= kMaxPeriod; period *= 2)
      first_shifts_ = shifts_by_period(period);
    if (first_shifts_.empty()) first_shifts_ = shifts_of_each_block();
    return first_shifts_;
  }

  Shifts shifts_of_each_block() {
    Shifts shifts;
    for (std::int64_t i = 0; i < grid_.count(); ++i) {
      if (stop_()) throw sim::Stopped("the run was ended");
      for (const auto& [place, at] : first_warps_.addresses(sim::place_at(grid_, i), true)) {
        const auto own = shifts.try_emplace(place, grid_.count(), GridPart::kNothing).first;
        own->second[static_cast<std::size_t>(i)] = shift_from_base(place, at);
      }
    }
    return shifts;
  }

  /// Whether the shifts are right for 257 blocks, spread evenly over the grid.
  bool holds(const Shifts& shifts) {
    constexpr std::int64_t kChecked = 256;
    for (std::int64_t i = 0; i <= kChecked; ++i) {
      const std::int64_t block = (grid_.count() - 1) * i / kChecked;
      const Addresses& there = first_addresses(block);
      for (const auto& [place, of_all] : shifts) {
        const auto at = there.find(place);
        const std::int64_t shift =
            at == there.end() ? GridPart::kNothing : shift_from_base(place, at->second);
        if (of_all[static_cast<std::size_t>(block)] != shift) return false;
      }
      for (const auto& [place, at] : there) {
        if (shifts.count(place) == 0) return false;
      }
    }
    return true;
  }

  // Most kernels divide the block number by constants, so a few blocks determine all shifts.
  // Returns an empty map if other blocks contradict these shifts.
  Shifts shifts_by_digits() {
    Shifts shifts;
    for (const auto& [place, at] : first_addresses(0)) {
      shifts[place] = shifts_by_digits(place);
      if (shifts[place].empty()) return {};
    }
    return holds(shifts) ? shifts : Shifts{};
  }

  // If rows are not aligned to vectors, some blocks periodically execute other instructions. Each
  // shift exceeds the shift one period before by a constant, which may differ within the period.
  // Returns an empty map if blocks contradict this.
  Shifts shifts_by_period(std::int64_t period) {
    const auto count = static_cast<std::size_t>(grid_.count());
    const auto length = static_cast<std::size_t>(period);
    if (2 * length > count) return {};
    Shifts shifts;
    for (std::size_t i = 0; i < 2 * length; ++i) {
      for (const auto& [place, at] : first_addresses(static_cast<std::int64_t>(i)))
        shifts.try_emplace(place, count, GridPart::kNothing).first->second[i] =
            shift_from_base(place, at);
    }
    for (auto& [place, of_all] : shifts) {
      for (std::size_t i = 2 * length; i < count; ++i) {
        const std::int64_t before = of_all[i - length];
        const std::int64_t first = of_all[i % length];
        const std::int64_t second = of_all[i % length + length];
        if ((first == GridPart::kNothing) != (second == GridPart::kNothing)) return {};
        of_all[i] = first == GridPart::kNothing ? first : before + (second - first);
      }
    }
    return holds(shifts) ? shifts : Shifts{};
  }

  // Writes the block number in a mixed radix; each digit shifts addresses by a constant step, and
  // its range ends where the step no longer applies. Returns an empty vector if an examined block
  // does not execute the instruction.
  std::vector<std::int64_t> shifts_by_digits(std::uint32_t place) {
    const std::int64_t count = grid_.count();
    bool has_all = true;
    const auto shift_at = [&](std::int64_t block) -> std::int64_t {
      const Addresses& there = first_addresses(block);
      const auto at = there.find(place);
      has_all = has_all && at != there.end() && base_.count(place) == 1;
      return has_all ? shift_from_base(place, at->second) : 0;
    };
    std::vector<std::int64_t> shifts{shift_at(0)};
    shifts.reserve(static_cast<std::size_t>(count));
    for (std::int64_t weight = 1; weight < count;) {
      const std::int64_t step = shift_at(weight) - shifts.front();
      const auto step_holds = [&](std::int64_t digit) {
        return shift_at(digit * weight) == shifts.front() + digit * step;
      };
      std::int64_t last = 1;
      std::int64_t radix = ceil_div(count, weight);
      while (radix - last > 1) {
        const std::int64_t digit = std::min(2 * last, last + (radix - last) / 2);
        (step_holds(digit) ? last : radix) = digit;
      }
      for (std::int64_t digit = 1; digit < radix; ++digit) {
        for (std::int64_t i = 0; i < weight; ++i)
          shifts.push_back(shifts[static_cast<std::size_t>(i)] + digit * step);
      }
      weight *= radix;
    }
    if (!has_all) return {};
    shifts.resize(static_cast<std::size_t>(count));
    return shifts;
  }

  const Addresses& first_addresses(std::int64_t block) {
    if (stop_()) throw sim::Stopped("the run was ended");
    const auto [known, is_new] = first_addresses_.try_emplace(block);
    if (is_new) known->second = first_warps_.addresses(sim::place_at(grid_, block), true);
    return known->second;
  }

  std::int64_t shift_from_base(std::uint32_t place, const PlaceAddresses& at) const {
    const auto own = base_.find(place);
    return own == base_.end() ? GridPart::kNothing
                              : static_cast<std::int64_t>(at.first - own->second.first);
  }

  // If the first warps do not execute an instruction, its shifts are assumed to be a linear
  // combination of two other instructions' shifts: in a matrix product, an element of C depends on
  // a row of A and a column of B.
  std::vector<std::int64_t> shifts_of_all(std::uint32_t place,
                                          const std::vector<std::int64_t>& probe_shifts) {
    const auto& known = first_shifts();
    if (const auto own = known.find(place); own != known.end()) return own->second;
    for (auto a = known.begin(); a != known.end(); ++a) {
      for (auto b = std::next(a); b != known.end(); ++b) {
        if (auto sum = sum_of(a->second, b->second, probe_shifts); !sum.empty()) return sum;
      }
    }
    return {};
  }

  std::vector<std::int64_t> sum_of(const std::vector<std::int64_t>& a,
                                   const std::vector<std::int64_t>& b,
                                   const std::vector<std::int64_t>& probe_shifts) const {
    const auto at = [&](const std::vector<std::int64_t>& shifts, std::size_t probe) {
      return static_cast<double>(
          shifts[static_cast<std::size_t>(sim::number_in(grid_, probes_[probe].block))]);
    };
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      for (std::size_t j = i + 1; j < probes_.size(); ++j) {
        const double determinant = at(a, i) * at(b, j) - at(a, j) * at(b, i);
        if (determinant == 0) continue;
        const auto y = [&](std::size_t probe) { return static_cast<double>(probe_shifts[probe]); };
        const double of_a = (y(i) * at(b, j) - y(j) * at(b, i)) / determinant;
        const double of_b = (at(a, i) * y(j) - at(a, j) * y(i)) / determinant;
        bool holds = true;
        for (std::size_t k = 0; k < probes_.size(); ++k)
          holds &= std::abs(of_a * at(a, k) + of_b * at(b, k) - y(k)) < 0.5;
        if (!holds) return {};
        std::vector<std::int64_t> sums(a.size());
        for (std::size_t k = 0; k < a.size(); ++k)
          sums[k] =
              std::llround(of_a * static_cast<double>(a[k]) + of_b * static_cast<double>(b[k]));
        return sums;
      }
    }
    return {};
  }

  const sim::LaunchState& launch_;
  const std::function<bool()>& stop_;
  FirstWarps first_warps_;
  Extent grid_;
  Addresses base_;
  std::vector<Probe> probes_;
  std::vector<std::size_t> along_;  ///< dimensions of the first probes
  /// By block: addresses before an instruction repeats.
  std::map<std::int64_t, Addresses> first_addresses_;
  Shifts first_shifts_;
  GridFootprint result_;
};

}  // namespace

void join(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const ByteRange& range : ranges) {
    if (count > 0 && range.begin <= ranges[count - 1].end)
      ranges[count - 1].end = std::max(ranges[count - 1].end, range.end);
    else
      ranges[count++] = range;
  }
  ranges.resize(count);
}

std::int64_t GridFootprint::shift(const GridPart& part, std::int64_t number) const {
  if (!part.shifts.empty()) return part.shifts[static_cast<std::size_t>(number)];
  const Extent at = sim::place_at(grid, number);
  return part.step[0] * (at.x - block.x) + part.step[1] * (at.y - block.y) +
         part.step[2] * (at.z - block.z);
}

std::vector<std::int64_t> GridFootprint::shifts(const GridPart& part) const {
  if (!part.shifts.empty()) return part.shifts;
  std::vector<std::int64_t> shifts;
  shifts.reserve(static_cast<std::size_t>(grid.count()));
  for (std::int64_t z = 0; z < grid.z; ++z) {
    for (std::int64_t y = 0; y < grid.y; ++y) {
      const std::int64_t row = part.step[1] * (y - block.y) + part.step[2] * (z - block.z);
      for (std::int64_t x = 0; x < grid.x; ++x)
        shifts.push_back(row + part.step[0] * (x - block.x));
    }
  }
  return shifts;
}

bool GridFootprint::ascends(const GridPart& part) const {
  if (!part.shifts.empty()) return false;
  std::int64_t extent_below = 0;  // shift of the last block along the preceding dimensions
  for (const auto& [extent, step] :
       {std::pair{grid.x, part.step[0]}, std::pair{grid.y, part.step[1]},
        std::pair{grid.z, part.step[2]}}) {
    if (extent == 1) continue;
    if (step <= extent_below) return false;
    extent_below += step * (extent - 1);
  }
  return true;
}

GridFootprint grid_footprint(const sim::LaunchState& launch, const std::function<bool()>& stop) {
  return GridProbe(launch, stop).footprint();
}

}  // namespace gpuexp
