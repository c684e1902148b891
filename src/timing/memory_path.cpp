#include "timing/memory_path.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "device/hardware_sizes.hpp"
#include "sim/tag_bank.hpp"

namespace gpuexp {

namespace {

constexpr std::uint64_t kSectorSize = 32;
constexpr std::uint64_t kSectorsPerLine = 4;

/// Maximum number of cycles that a request outside the schedulers' queues waits for the data stage.
/// With this value and the queues' length (timing/warp_choice.cpp), warps of the matmul family
/// stall on full queues, shared memory and barriers in the proportions that an H200 counts.
constexpr double kMaxBacklog = 40;

// Times that L2 takes for the first to fourth sector of a line that one request loads or stores,
// relative to a sector of a whole line (docs/studies/caches/l2_lines.csv). A slice of L2 looks up
// one line per cycle and delivers two sectors per cycle, so a load of a single sector takes nearly
// as long as a load of two. A single stored sector takes longer than a quarter of a line, as if
// each line had a header.
constexpr std::array<double, kSectorsPerLine> kLoadCosts{1.75, 0.25, 1, 1};
constexpr std::array<double, kSectorsPerLine> kStoreCosts{1.67, 0.78, 0.78, 0.77};

/// Costs of the sectors of a request, in the order of their addresses.
class LineCosts {
 public:
  explicit LineCosts(const std::array<double, kSectorsPerLine>& costs) : costs_(costs) {}
  double next(std::uint64_t sector) {
    if (sector / kSectorsPerLine != line_) {
      line_ = sector / kSectorsPerLine;
      sectors_ = 0;
    }
    return costs_[sectors_++];
  }

 private:
  const std::array<double, kSectorsPerLine>& costs_;
  std::uint64_t line_ = ~std::uint64_t{0};
  std::size_t sectors_ = 0;
};

// Whether the sector is among the `share` of sectors that come from device memory; decided per pair
// of sectors. The hash uses only the low 16 bits of the sector number, because buffer addresses
// differ between runs.
bool is_of_share(std::uint64_t sector, double share) {
  constexpr std::uint64_t kWithinBuffer = (1u << 16) - 1;
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  const std::uint64_t hash = (sector & kWithinBuffer) / 2 * kMultiplier;
  return static_cast<double>(hash >> 32) < share * 4294967296.0;
}

}  // namespace

// Assumes that L1 has evicted the sector and written it to L2 (PTX ISA, ld.lu: "to avoid needless
// write-backs"), and now reads the sector from L2.
double MemoryPath::fetch_local(double when, double share) {
  l2_reads_ += 1;
  l2_writes_ += 1;
  const double written = l2_write_.serve(when, behind_.l2_write_clocks) - behind_.l2_write_clocks;
  const double requested_at = l2_read_.serve(when, behind_.l2_read_clocks) - behind_.l2_read_clocks;
  const double latency = parameters_.l2_latency * parameters_.l2_spread.at(share);
  max_latency_ = std::max(max_latency_, latency);
  return std::max(written, requested_at) + latency;
}

// Returns the arrival of a sector requested at `when`. `share` is the share of lines whose latency
// is at most this sector's latency. `cost` is in sectors of whole lines.
double MemoryPath::fetch(double when, std::uint64_t sector, double share, double cost,
                         bool changes) {
  if (sector >= kLocalSectors) return fetch_local(when, share);
  l2_reads_ += 1;
  if (!first_load_at_) first_load_at_ = when + parameters_.first_load;
  const double clocks = cost * behind_.l2_read_clocks;
  const double requested_at = l2_read_.serve(std::max(when, *first_load_at_), clocks) - clocks;
  // Assume that L2 still holds sectors that the block has requested before.
  const bool is_from_dram =
      requested_.is_first(block_, sector, changes) &&
      is_of_share(sector, changes ? behind_.dram_write_share : behind_.dram_read_share);
  const double latency =
      is_from_dram ? parameters_.dram_latency *
                             parameters_.dram_spread.at(dram_slices_.of(sector, share)) +
                         dram_queue_.wait(requested_at, dram_.busy(), parameters_.dram_queue)
                   : parameters_.l2_latency * parameters_.l2_spread.at(slices_.of(sector, share));
  max_latency_ = std::max(max_latency_, latency);
  if (!is_from_dram) return requested_at + latency;
  const double read =
      dram_.serve(requested_at, behind_.dram_read_clocks) - behind_.dram_read_clocks;
  if (changes) dram_.serve(requested_at, behind_.dram_write_clocks);
  const double filled =
      l2_write_.serve(requested_at, behind_.l2_fill_clocks) - behind_.l2_fill_clocks;
  return std::max(read, filled) + latency;
}

// ShareDraw can skip the draws of all lines of an access, at most one line per sector.
static_assert(std::tuple_size_v<decltype(sim::GlobalTouch::sectors)> <= ShareDraw::kMaxSkipped);

double delivered_wavefronts(const sim::GlobalTouch& touch, std::uint64_t missing) {
  if (missing == 0) return touch.bank_wavefronts;
  const auto missed = static_cast<unsigned>(std::popcount(missing));
  if (missed == touch.count) return touch.missed_wavefronts;
  TagLookups tags;
  std::uint64_t wavefronts_with_misses = 0;
  unsigned wavefront = 0;
  for (std::size_t i = 0; i < touch.count; ++i) {
    if (i == 0 || !SectorCache::share_line(touch.sectors[i - 1], touch.sectors[i]))
      wavefront = tags.wavefront_of(touch.sectors[i] / kSectorsPerLine);
    if (missing >> i & 1) wavefronts_with_misses |= std::uint64_t{1} << wavefront;
  }
  // Part of `wavefronts` for `sectors` of the touch's sectors, rounded up.
  const auto share = [&](unsigned wavefronts, std::size_t sectors) {
    return (wavefronts * sectors + touch.count - 1) / touch.count;
  };
  const auto lookups = static_cast<std::size_t>(std::popcount(wavefronts_with_misses));
  // If lanes are processed in several passes, each pass looks up the lines of its lanes.
  const bool has_passes =
      touch.missed_wavefronts > std::max(touch.bank_wavefronts, touch.tag_wavefronts);
  const std::size_t by_passes = has_passes ? share(touch.missed_wavefronts, missed) : 0;
  return static_cast<double>(share(touch.bank_wavefronts, touch.count - missed) +
                             std::max({share(touch.bank_wavefronts, missed), by_passes, lookups}));
}

MemoryPath::Fetched MemoryPath::fetch_all(double now, double when, const sim::GlobalTouch& touch,
                                          const FetchOptions& options) {
  Fetched fetched;
  max_latency_ = parameters_.l1_latency;
  // Draws a latency share for each line; hits do not use it.
  std::size_t lines = 0;
  std::size_t hits = 0;
  SectorCache::Line* line = nullptr;
  LineCosts costs(kLoadCosts);
  for (std::size_t i = 0; i < touch.count; ++i) {
    const std::uint64_t sector = touch.sectors[i];
    if (i == 0 || !SectorCache::share_line(touch.sectors[i - 1], sector)) {
      ++lines;
      line = options.passes_l1 ? nullptr : l1_.find(sector);
    }
    double arrives = line ? (*line)[sector % SectorCache::kSectors] : SectorCache::kAbsent;
    if (arrives != SectorCache::kAbsent) {
      ++hits;
    } else {
      arrives = fetch(when, sector, draw_.peek(lines), costs.next(sector), options.changes);
      if (!options.passes_l1) line = l1_.put(sector, arrives);
      // The sector passes the data stage one L1 latency before it arrives at the warp, as on a hit.
      // A store whose wavefront reaches the data stage in that cycle may have to repeat it.
      const double repeats = !options.passes_l1 ? parameters_.repeats.line
                             : options.copies   ? parameters_.repeats.copy
                                                : 0;
      if (repeats > 0) store_repeats_.add(arrives - parameters_.l1_latency, repeats);
    }
    if (arrives > now) fetched.missing |= std::uint64_t{1} << i;
    fetched.there = std::max(fetched.there, arrives);
  }
  draw_.pass(lines);
  lookups_.all += static_cast<double>(touch.count);
  lookups_.hits += static_cast<double>(hits);
  return fetched;
}

void MemoryPath::catch_up(double now) {
  while (!later_.empty() && later_.top().when <= now) {
    const Later next = later_.top();
    later_.pop();
    data_.serve(next.when, next.clocks);
    shared_clocks_ += next.clocks;
  }
}

// Reserves short pieces, so that other requests can use the stage in between.
void MemoryPath::reserve_data_stage(double when, double end, double wavefronts) {
  constexpr double kPiece = 8;
  const double step = (end - when) * kPiece / wavefronts;
  for (double left = wavefronts; left > 0; left -= kPiece, when += step)
    later_.push({when, std::min(left, kPiece) * parameters_.data_stage_clocks});
}

Served MemoryPath::load(double now, const sim::GlobalTouch& touch, bool passes_l1) {
  return load_as(now, touch, {passes_l1, false});
}

Served MemoryPath::atomic(double now, const sim::MemoryAccess& access) {
  Served served = load_as(now, touch_of(access), {true, true});
  const double fetched = served.done - max_latency_;
  const auto [taken, done] = atomics_.serve(served.taken, access);
  served.taken = taken;
  served.done = std::max(fetched, done) + max_latency_;
  return served;
}

Served MemoryPath::load_as(double now, const sim::GlobalTouch& touch, const FetchOptions& options) {
  catch_up(now);
  // The first wavefront of each stage is part of the latency.
  const double looked_up = tags_.serve(now, touch.tag_wavefronts);
  const auto [there, missing] = fetch_all(now, looked_up - 1, touch, options);
  const double wavefronts = delivered_wavefronts(touch, missing);
  lookups_.extra_wavefronts += wavefronts - touch.missed_wavefronts;
  const double clocks = parameters_.data_stage_clocks * wavefronts;
  const double delivered = data_.serve(looked_up - 1, clocks);
  const double begun = std::max(looked_up, delivered - clocks);
  return {std::max(now + 1, begun - kMaxBacklog),
          std::max(delivered - parameters_.data_stage_clocks + parameters_.l1_latency, there),
          now + max_latency_};
}

Served MemoryPath::copy(double now, const sim::GlobalTouch& touch, bool passes_l1) {
  // For cp.async, an H200 counts twice the tag wavefronts of an ordinary load
  // (l1tex__t_output_wavefronts).
  const double looked_up = tags_.serve(now, 2 * touch.tag_wavefronts);
  const double there = fetch_all(now, looked_up - 1, touch, {passes_l1, false, true}).there;
  return {std::max(now + 1, looked_up - kMaxBacklog),
          std::max(looked_up + parameters_.l1_latency, there), now + max_latency_};
}

double MemoryPath::store_to_l2(double when, std::uint64_t sector, double cost) {
  l2_writes_ += 1;
  const bool is_first = requested_.is_first(block_, sector, true);
  const double given = l2_write_.serve(
      when, cost * (is_first ? behind_.l2_first_write_clocks : behind_.l2_write_clocks));
  acknowledged_at_ = given + parameters_.l2_latency;
  if (is_first && is_of_share(sector, behind_.dram_write_share))
    dram_.serve(given, behind_.dram_write_clocks);
  return given;
}

Served MemoryPath::store(double now, const sim::GlobalTouch& touch) {
  catch_up(now);
  const double looked_up = tags_.serve(now, touch.tag_wavefronts);
  const double wavefronts = std::max(touch.bank_wavefronts, touch.tag_wavefronts);
  const double read = data_.serve(looked_up - 1, wavefronts * parameters_.data_stage_clocks);
  double done = read;
  bool line_is_present = false;
  LineCosts costs(kStoreCosts);
  const bool waits_for_l2 = l2_write_.free_at() > read + parameters_.l2_latency;
  for (std::size_t i = 0; i < touch.count; ++i) {
    // Stores stay in L1 and, except to local memory, are written through to L2. A store hits if L1
    // holds the line, even without the sector: if two warps write the halves of a line, an H200
    // counts the second store as a hit.
    lookups_.all += 1;
    if (i == 0 || !SectorCache::share_line(touch.sectors[i], touch.sectors[i - 1]))
      line_is_present = l1_.has_line(touch.sectors[i]);
    lookups_.hits += line_is_present;
    if (!line_is_present && parameters_.repeats.stored > 0)
      load_repeats_.add(read, parameters_.repeats.stored);
    l1_.put(touch.sectors[i], read);
    if (touch.has_partial_sectors &&
        partial_stores_.joins(warp_, touch.sectors[i], read, waits_for_l2))
      continue;
    if (touch.sectors[i] < kLocalSectors)
      done = store_to_l2(read, touch.sectors[i], costs.next(touch.sectors[i]));
  }
  return {read, done, now + 1};
}

// The copy engine requests the lines one after another. It writes each arriving line to shared
// memory.
CopyTime MemoryPath::copy_in(double now, std::uint64_t address, std::uint64_t bytes) {
  catch_up(now);
  const AsyncParameters& async = parameters_.async;
  CopyTime time;
  max_latency_ = 0;
  const std::uint64_t end = (address + bytes - 1) / kSectorSize + 1;
  double requested_at = now;
  double least = async.copy_row;
  for (std::uint64_t sector = address / kSectorSize; sector < end; least = 0) {
    const std::uint64_t line_end = std::min(end, (sector / kSectorsPerLine + 1) * kSectorsPerLine);
    const double part = static_cast<double>(line_end - sector) / kSectorsPerLine;
    const double clocks = std::max(least, part * async.copy_line);
    requested_at = engine_.serve(requested_at, clocks) - clocks;
    const double share = draw_.next();
    double line_arrival = 0;
    LineCosts costs(kLoadCosts);
    for (; sector < line_end; ++sector) {
      const double there =
          fetch(requested_at, sector, share, costs.next(sector)) - async.copy_ahead;
      if (parameters_.repeats.copy > 0) store_repeats_.add(there, parameters_.repeats.copy);
      line_arrival = std::max(line_arrival, there);
    }
    later_.push({line_arrival, parameters_.data_stage_clocks});
    time.there = std::max(time.there, line_arrival);
  }
  time.read = requested_at;
  time.alone = now + max_latency_ - async.copy_ahead +
               async.copy_line * static_cast<double>(bytes) / kWavefrontBytes;
  return time;
}

CopyTime MemoryPath::copy_out(double now, std::uint64_t address, std::uint64_t bytes,
                              double sector_clocks) {
  catch_up(now);
  const AsyncParameters& async = parameters_.async;
  const std::uint64_t first = address / kSectorSize;
  const std::uint64_t end = (address + bytes - 1) / kSectorSize + 1;
  const double begun = std::max(now, engine_.free_at());
  CopyTime time;
  double given = 0;
  LineCosts costs(kStoreCosts);
  // The engine waits if L2 accepts sectors more slowly than the engine sends them.
  for (std::uint64_t sector = first; sector < end; ++sector) {
    time.read = engine_.serve(std::max(now, given - behind_.l2_write_clocks), sector_clocks);
    if (parameters_.repeats.read > 0)
      load_repeats_.add(time.read - sector_clocks, parameters_.repeats.read);
    given = store_to_l2(time.read, sector, costs.next(sector));
  }
  const double wavefronts = std::max(1.0, static_cast<double>(bytes) / kWavefrontBytes);
  reserve_data_stage(begun, time.read, wavefronts);
  time.read += async.copy_out;
  time.there = std::max(given, time.read);
  time.alone = now + async.copy_out + static_cast<double>(end - first) * sector_clocks;
  return time;
}

Served MemoryPath::reach(double now, double bytes, double line_clocks, MemoryPath& other) {
  catch_up(now);
  const double clocks = bytes / kWavefrontBytes * line_clocks;
  const double sent = link_.serve(now, clocks);
  other.reserve_data_stage(sent, sent + clocks, std::max(1.0, bytes / kWavefrontBytes));
  return {std::max(now + 1, sent - kMaxBacklog), sent + parameters_.async.remote_latency,
          now + clocks + parameters_.async.remote_latency};
}

Served MemoryPath::shared(double now, double wavefronts, SharedUse use, double share) {
  catch_up(now);
  const double clocks = wavefronts * parameters_.data_stage_clocks;
  const double served = data_.serve(now, clocks);
  if (use == SharedUse::load) repeats_.loads += share * load_repeats_.sum(served - clocks, clocks);
  // A store reaches the data stage half a shared memory load's latency after the store's issue.
  if (use == SharedUse::store)
    repeats_.stores +=
        share * store_repeats_.sum(served - clocks + parameters_.shared_latency / 2, clocks);
  shared_clocks_ += clocks;
  return {std::max(now + 1, served - clocks + 1 - kMaxBacklog),
          served - parameters_.data_stage_clocks + parameters_.shared_latency,
          now + parameters_.shared_latency};
}

double MemoryPath::write_copied(double now, double wavefronts) {
  catch_up(now);
  shared_clocks_ += wavefronts * parameters_.data_stage_clocks;
  return data_.serve(now, wavefronts * parameters_.data_stage_clocks);
}

void MemoryPath::add_to(SmBusy& busy) const {
  const bool shared_dominates = 2 * shared_clocks_ > data_.busy() && data_.busy() > tags_.busy();
  busy[shared_dominates ? SmPart::shared : SmPart::l1] += std::max(data_.busy(), tags_.busy());
  // L2 serves reads and writes concurrently.
  busy[SmPart::l2] += std::max({l2_read_.busy(), l2_write_.busy(), atomics_.busy()});
  busy[SmPart::dram] += dram_.busy();
}

double MemoryPath::last() const {
  return std::max(
      {l2_read_.free_at(), acknowledged_at_, dram_.free_at(), data_.free_at(), atomics_.last()});
}

}  // namespace gpuexp
