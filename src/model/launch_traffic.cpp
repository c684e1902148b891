#include "model/launch_traffic.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "device/l2_cache.hpp"
#include "sim/grid_run.hpp"
#include "timing/sm_parameters.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp {

namespace {

constexpr std::uint64_t kSectorSize = 32;
constexpr std::uint64_t kGranuleSize = 64;

double units(const std::vector<ByteRange>& ranges, std::uint64_t size) {
  double sum = 0;
  std::uint64_t last = ~std::uint64_t{0};
  for (const ByteRange& range : ranges) {
    const std::uint64_t first = range.begin / size;
    const std::uint64_t end = (range.end - 1) / size;
    sum += static_cast<double>(end - first + (first != last));
    last = end;
  }
  return sum;
}

double bytes_in(const std::vector<ByteRange>& ranges) {
  return static_cast<double>(kSectorSize) * units(ranges, kSectorSize);
}

using Moves = std::map<std::uint64_t, std::int64_t>;

/// A part of a grid: its ranges by replay phase, and the shifts of its blocks.
struct ReplayedPart {
  const GridPart* part = nullptr;
  std::vector<std::vector<ByteRange>> phases;
  /// Distinct shifts of the blocks of each round, and the end of each round in `shifts`.
  std::vector<std::int64_t> shifts;
  std::vector<std::size_t> ends;
};

/// Replays a grid's blocks in rounds of resident blocks, phase by phase, because resident blocks
/// make the same accesses at nearly the same time.
class GridReplay {
 public:
  GridReplay(const KernelFootprint& kernel, const DeviceSpec& device)
      : grid_(*kernel.grid),
        resident_(std::max<std::int64_t>(1, kernel.resident)),
        sms_(kernel.sms) {
    for (const GridPart& part : grid_.parts) {
      parts_.push_back({&part, {}, {}, {}});
      const std::vector<std::int64_t> shifts =
          part.is_scattered ? std::vector<std::int64_t>() : grid_.shifts(part);
      if (!part.is_scattered) find_shifts(shifts, parts_.back());
      if (!part.writes && !grid_.has_parts_of_each_block) count_readers(shifts, part);
    }
    if (grid_.has_parts_of_each_block) count_readers_of_parts();
    find_phases(static_cast<double>(kernel.l1_bytes));
    double resident_sectors = 0;
    for (const GridPart& part : grid_.parts)
      resident_sectors += sectors_of_block(part) * static_cast<double>(resident_);
    keeps_phases_ = resident_sectors <= kept_l2_sectors(device);
  }

  double granules() const {
    double sum = 0;
    for (const ReplayedPart& part : parts_) {
      const double times = static_cast<double>(part.part->is_scattered ? grid_.grid.count()
                                                                       : std::ssize(part.shifts));
      for (const auto& ranges : part.phases)
        sum += times * units(ranges, kGranuleSize);
    }
    return sum;
  }

  /// `moves` is the offset to add to each buffer's addresses, by the start of the buffer.
  KernelTraffic run(L2Replay& l2, const Moves& moves, const std::function<bool()>& stop) const {
    const std::int64_t rounds = (grid_.grid.count() + resident_ - 1) / resident_;
    for (std::int64_t round = 0; round < rounds; ++round) {
      if (stop()) throw sim::Stopped("the run was ended");
      for (std::size_t phase = 0; phase < phases_; ++phase) {
        for (const bool writes : {false, true}) {
          for (const ReplayedPart& part : parts_) {
            if (part.part->writes == writes)
              touch(part, round, phase, l2, moves.at(part.part->within.begin));
          }
        }
      }
    }
    KernelTraffic traffic;
    traffic.dram = l2.take();
    std::set<std::uint64_t> buffers;
    for (const ReplayedPart& part : parts_)
      buffers.insert(part.part->within.begin);
    traffic.buffers = buffers.size();
    traffic.reads_by_sms = reads_by_sms_;
    for (const ReplayedPart& part : parts_)
      (part.part->writes ? traffic.written_sectors : traffic.read_sectors) += sectors(part);
    return traffic;
  }

 private:
  void find_shifts(const std::vector<std::int64_t>& all, ReplayedPart& part) const {
    const auto blocks = std::ssize(all);
    part.shifts.reserve(all.size());
    for (std::int64_t begin = 0; begin < blocks; begin += resident_) {
      const auto first = std::ssize(part.shifts);
      for (std::int64_t i = begin; i < std::min(blocks, begin + resident_); ++i) {
        const std::int64_t shift = all[static_cast<std::size_t>(i)];
        if (shift != GridPart::kNothing) part.shifts.push_back(shift);
      }
      const auto round_begin = part.shifts.begin() + first;
      if (!std::is_sorted(round_begin, part.shifts.end()))
        std::sort(round_begin, part.shifts.end());
      part.shifts.erase(std::unique(round_begin, part.shifts.end()), part.shifts.end());
      part.ends.push_back(part.shifts.size());
    }
  }

  // Blocks with equal shifts read the same sectors. SMs get blocks in the same order in each round.
  void count_readers(const std::vector<std::int64_t>& all, const GridPart& part) {
    if (part.is_scattered)
      return reads_by_sms_.add(1, sectors_of_block(part) * static_cast<double>(grid_.grid.count()));
    const double of_block = sectors_of_block(part);
    const auto blocks = std::ssize(all);
    if (grid_.ascends(part)) return reads_by_sms_.add(1, of_block * static_cast<double>(blocks));
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> readers;
    for (std::int64_t begin = 0; begin < blocks; begin += resident_) {
      readers.clear();
      for (std::int64_t i = begin; i < std::min(blocks, begin + resident_); ++i) {
        const std::int64_t shift = all[static_cast<std::size_t>(i)];
        const std::int64_t sm = (i - begin) % sms_;
        if (shift != GridPart::kNothing) readers.emplace_back(gpc_of(sm, sms_), shift, sm);
      }
      std::sort(readers.begin(), readers.end());
      for (auto first = readers.begin(); first != readers.end();) {
        std::size_t sms = 1;
        auto last = first + 1;
        for (; last != readers.end() && std::get<0>(*last) == std::get<0>(*first) &&
               std::get<1>(*last) == std::get<1>(*first);
             ++last)
          sms += std::get<2>(*last) != std::get<2>(*(last - 1));
        reads_by_sms_.add(sms, of_block * static_cast<double>(last - first));
        first = last;
      }
    }
  }

  // Counts the readers of each sector, because blocks with parts of their own have equal ranges
  // instead of equal shifts. Each of the few blocks has its own SM.
  void count_readers_of_parts() {
    struct Edge {
      std::uint64_t sector;
      int readers;  ///< 1 at the first sector of a range, -1 after its last sector
    };
    std::map<std::int64_t, std::vector<Edge>> gpcs;
    for (std::int64_t block = 0; block < grid_.grid.count(); ++block) {
      std::vector<ByteRange> sectors;
      for (const GridPart& part : grid_.parts) {
        if (part.writes || part.is_scattered || grid_.shift(part, block) == GridPart::kNothing)
          continue;
        for (const auto& ranges : part.phases) {
          for (const ByteRange& range : ranges)
            sectors.push_back({range.begin / kSectorSize, (range.end - 1) / kSectorSize + 1});
        }
      }
      join(sectors);
      auto& edges = gpcs[gpc_of(block % sms_, sms_)];
      for (const ByteRange& range : sectors)
        edges.insert(edges.end(), {{range.begin, 1}, {range.end, -1}});
    }
    for (auto& [gpc, edges] : gpcs) {
      std::ranges::sort(edges, std::ranges::less(), &Edge::sector);
      std::uint64_t from = 0;
      int readers = 0;
      for (const Edge& edge : edges) {
        if (readers > 0)
          reads_by_sms_.add(static_cast<std::size_t>(readers),
                            readers * static_cast<double>(edge.sector - from));
        from = edge.sector;
        readers += edge.readers;
      }
    }
    for (const GridPart& part : grid_.parts) {
      if (part.is_scattered && !part.writes) count_readers({}, part);
    }
  }

  // Joins phases as long as L1 holds the data of a block's phases: repeated requests do not reach
  // L2.
  void find_phases(double l1_bytes) {
    std::size_t begin = 0;
    while (begin < grid_.phases) {
      std::size_t end = begin + 1;
      std::vector<std::vector<ByteRange>> joined = joined_phases(begin, end);
      while (end < grid_.phases) {
        auto more = joined_phases(begin, end + 1);
        double bytes = 0;
        for (const auto& ranges : more)
          bytes += bytes_in(ranges);
        if (bytes > l1_bytes) break;
        joined = std::move(more);
        ++end;
      }
      for (std::size_t i = 0; i < parts_.size(); ++i)
        parts_[i].phases.push_back(std::move(joined[i]));
      begin = end;
    }
    phases_ = parts_.empty() ? 0 : parts_.front().phases.size();
  }

  std::vector<std::vector<ByteRange>> joined_phases(std::size_t begin, std::size_t end) const {
    std::vector<std::vector<ByteRange>> joined;
    for (const ReplayedPart& part : parts_) {
      std::vector<ByteRange>& ranges = joined.emplace_back();
      const auto& phases = part.part->phases;
      for (std::size_t i = begin; i < std::min(end, phases.size()); ++i)
        ranges.insert(ranges.end(), phases[i].begin(), phases[i].end());
      if (!part.part->is_scattered) join(ranges);
    }
    return joined;
  }

  std::int64_t blocks_of(std::int64_t round) const {
    return std::min(resident_, grid_.grid.count() - round * resident_);
  }

  void touch(const ReplayedPart& part, std::int64_t round, std::size_t phase, L2Replay& l2,
             std::int64_t from) const {
    const std::vector<ByteRange>& ranges = part.phases[phase];
    if (ranges.empty()) return;
    const bool writes = part.part->writes;
    const auto moved = static_cast<std::uint64_t>(from);
    const ByteRange within{part.part->within.begin + moved, part.part->within.end + moved};
    if (part.part->is_scattered) {
      const double count = units(ranges, kSectorSize) * static_cast<double>(blocks_of(round));
      writes ? l2.write_scattered(within, count) : l2.read_scattered(within, count);
      return;
    }
    const auto at = static_cast<std::size_t>(round);
    for (std::size_t i = at == 0 ? 0 : part.ends[at - 1]; i < part.ends[at]; ++i) {
      const std::int64_t shift = part.shifts[i] + from;
      writes ? l2.write(ranges, shift, within) : l2.read(ranges, shift, within);
    }
  }

  double sectors_of_block(const GridPart& part) const {
    std::vector<ByteRange> all;
    for (const auto& ranges : part.phases)
      all.insert(all.end(), ranges.begin(), ranges.end());
    if (!part.is_scattered) join(all);
    return units(all, kSectorSize);
  }

  // A block's accesses to the same sectors in another phase count if L2 does not hold the sectors
  // until then (BlockSectors of timing/memory_path.hpp forgets them, too).
  double sectors(const ReplayedPart& replayed) const {
    const GridPart& part = *replayed.part;
    std::int64_t blocks = grid_.grid.count();
    if (!part.shifts.empty())
      blocks -= std::count(part.shifts.begin(), part.shifts.end(), GridPart::kNothing);
    double of_block = 0;
    for (const auto& ranges : replayed.phases)
      of_block += units(ranges, kSectorSize);
    if (keeps_phases_) of_block = sectors_of_block(part);
    return of_block * static_cast<double>(blocks);
  }

  const GridFootprint& grid_;
  std::int64_t resident_;
  std::int64_t sms_;
  ReadsBySms reads_by_sms_;
  std::vector<ReplayedPart> parts_;
  std::size_t phases_ = 0;
  bool keeps_phases_ = true;  ///< L2 holds what resident blocks access in all their phases
};

}  // namespace

KernelTraffic& KernelTraffic::operator+=(const KernelTraffic& more) {
  dram.read += more.dram.read;
  dram.read_scattered += more.dram.read_scattered;
  dram.written += more.dram.written;
  dram.read_sectors += more.dram.read_sectors;
  read_sectors += more.read_sectors;
  written_sectors += more.written_sectors;
  reads_by_sms += more.reads_by_sms;
  return *this;
}

KernelTraffic& KernelTraffic::operator*=(double times) {
  for (double* bytes : {&dram.read, &dram.read_scattered, &dram.written, &dram.read_sectors,
                        &read_sectors, &written_sectors})
    *bytes *= times;
  reads_by_sms *= times;
  return *this;
}

// Includes the fields of tensor maps, because the arguments' bytes lack maps before these are
// encoded.
std::vector<std::int64_t> identity_of(const KernelStep& step) {
  const auto number_of = [](const void* pointer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  };
  const Shape& shape = step.shape;
  std::vector<std::int64_t> identity{number_of(shape.kernel), shape.dynamic_shared_bytes};
  for (const Extent& extent : {shape.grid, shape.block, shape.cluster})
    identity.insert(identity.end(), {extent.x, extent.y, extent.z});
  for (const std::byte byte : step.arguments.bytes())
    identity.push_back(std::to_integer<std::int64_t>(byte));
  for (std::size_t i = 0; i < step.arguments.count(); ++i) {
    const TensorMap* const map = step.arguments.tensor_map(i);
    if (!map) continue;
    for (const std::int64_t field :
         {number_of(map->base), static_cast<std::int64_t>(map->type),
          static_cast<std::int64_t>(map->swizzle), static_cast<std::int64_t>(map->fill)})
      identity.push_back(field);
    for (const auto* sizes : {&map->extents, &map->strides, &map->box})
      identity.insert(identity.end(), sizes->begin(), sizes->end());
  }
  return identity;
}

LaunchFootprint footprint_of(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                             const DeviceSpec& device, GridFootprints* known) {
  GridFootprints own;
  GridFootprints& grids = known ? *known : own;
  LaunchFootprint launch;
  for (const ResidentKernel& kernel : kernels) {
    const Shape& shape = kernel.step->shape;
    auto& grid = grids[identity_of(*kernel.step)];
    sim::LaunchState state = simulator.approximate_launch_of(*kernel.step, kernel.keeps_global);
    state.checks.max_instructions = kMaxInstructionsPerWarp;
    if (!grid) grid = std::make_shared<const GridFootprint>(grid_footprint(state, simulator.stop));
    if (launch.refusal.empty()) launch.refusal = grid->refusal;
    const std::int64_t cluster = shape.cluster.count();
    launch.kernels.push_back(
        {grid, std::max<std::int64_t>(1, kernel.blocks_per_sm * device.sm_count / cluster),
         cluster * kernel.memory.l1 / std::max(1, kernel.blocks_per_sm), device.sm_count});
  }
  return launch;
}

std::vector<KernelTraffic> launch_traffic(const LaunchFootprint& launch, Mode mode,
                                          const DeviceSpec& device,
                                          const std::function<bool()>& stop) {
  std::map<const GridFootprint*, GridReplay> replays;
  double granules = 0;
  for (const KernelFootprint& kernel : launch.kernels)
    granules += replays.try_emplace(kernel.grid.get(), kernel, device).first->second.granules();
  // Replaying this number of granules takes about 10 ms and samples a sufficient part of L2.
  constexpr double kMaxGranules = 1 << 19;
  constexpr std::uint64_t kMaxSamplingPeriod = 256;
  const auto sampling_period = static_cast<std::uint64_t>(std::max(1.0, granules / kMaxGranules));
  L2Replay l2(device, std::min(kMaxSamplingPeriod, std::bit_ceil(sampling_period)));
  // Moves buffers to fixed addresses, so that the sampled pages do not depend on host addresses.
  constexpr std::int64_t kBetweenBuffers = std::int64_t{1} << 42;
  Moves moves;
  double buffer_bytes = 0;
  for (const KernelFootprint& kernel : launch.kernels) {
    for (const GridPart& part : kernel.grid->parts) {
      const auto place = static_cast<std::int64_t>(moves.size() + 1) * kBetweenBuffers;
      const auto begin = static_cast<std::int64_t>(part.within.begin);
      if (moves.try_emplace(part.within.begin, place - begin).second)
        buffer_bytes += static_cast<double>(part.within.end - part.within.begin);
    }
  }
  if (follows_launches(mode)) {
    // The launches of a graph rotate over copies of the buffers. If L2 holds all copies, a launch
    // finds its own copy there.
    const bool has_other_copies =
        mode == Mode::graph &&
        kMaxGraphCopies * buffer_bytes / kSectorSize > kept_l2_sectors(device);
    Moves before = moves;
    constexpr std::int64_t kElsewhere = std::int64_t{1} << 60;
    for (auto& [begin, move] : before)
      move += has_other_copies ? kElsewhere : 0;
    for (const KernelFootprint& kernel : launch.kernels)
      replays.at(kernel.grid.get()).run(l2, before, stop);
  }
  std::vector<KernelTraffic> traffic;
  for (const KernelFootprint& kernel : launch.kernels)
    traffic.push_back(replays.at(kernel.grid.get()).run(l2, moves, stop));
  return traffic;
}

}  // namespace gpuexp
