#include "timing/memory_path.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

/// Clocks of the data stage that what has left the schedulers' queues may wait for. With this and
/// the queues' length (timing/sm_time.cpp), warps of the matmul family wait for a place in a queue,
/// for shared memory and at barriers in the proportions that an H200 counts.
constexpr double kAhead = 40;

// Whether this sector is one of `share` of all. Pairs of sectors come from device memory together.
// The low bits of a sector's number alone decide: where buffers begin differs from run to run.
bool is_of_share(std::uint64_t sector, double share) {
  constexpr std::uint64_t kWithinBuffer = (1u << 16) - 1;
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const std::uint64_t hash = (sector & kWithinBuffer) / 2 * kMultiplier;
  return static_cast<double>(hash >> 32) < share * 4294967296.0;
}

}  // namespace

// When the sector is there that is asked for at `when`; that share of all lines takes no longer.
double MemoryPath::fetch(double when, std::uint64_t sector, double share) {
  l2_reads_ += 1;
  const double asked = l2_read_.serve(when, behind_.l2_read_clocks) - behind_.l2_read_clocks;
  // What its block asks for again L2 has.
  const bool is_from_dram =
      asked_for_.is_first(block_, sector, false) && is_of_share(sector, behind_.dram_read_share);
  const double latency = is_from_dram ? figures_.dram_latency * figures_.dram_spread.at(share)
                                      : figures_.l2_latency * figures_.l2_spread.at(share);
  trip_ = std::max(trip_, latency);
  if (!is_from_dram) return asked + latency;
  const double read = dram_.serve(asked, behind_.dram_read_clocks) - behind_.dram_read_clocks;
  return read + latency;
}

// When the last of the sectors is there that L1 looked up at `when`.
double MemoryPath::fetch_all(double when, const sim::GlobalTouch& touch, bool passes_l1) {
  double there = 0;
  trip_ = figures_.l1_latency;
  double share = 0;
  for (std::size_t i = 0; i < touch.count; ++i) {
    const std::uint64_t sector = touch.sectors[i];
    constexpr std::uint64_t kSectorsPerLine = 4;
    if (i == 0 || touch.sectors[i - 1] / kSectorsPerLine != sector / kSectorsPerLine)
      share = draw_.next();
    double arrives = passes_l1 ? SectorCache::kAbsent : l1_.find(sector);
    lookups_.all += 1;
    lookups_.hits += arrives != SectorCache::kAbsent;
    if (arrives == SectorCache::kAbsent) {
      arrives = fetch(when, sector, share);
      if (!passes_l1) l1_.put(sector, arrives);
    }
    there = std::max(there, arrives);
  }
  return there;
}

Served MemoryPath::load(double now, const sim::GlobalTouch& touch, bool passes_l1) {
  // The first wavefront of each stage is part of the latency.
  const double looked_up = tags_.serve(now, touch.tag_wavefronts);
  const double there = fetch_all(looked_up - 1, touch, passes_l1);
  const double clocks = figures_.data_stage_clocks *
                        (there <= now ? touch.bank_wavefronts
                                      : std::max(touch.bank_wavefronts, touch.tag_wavefronts));
  const double delivered = data_.serve(looked_up - 1, clocks);
  const double begun = std::max(looked_up, delivered - clocks);
  return {std::max(now + 1, begun - kAhead),
          std::max(delivered - figures_.data_stage_clocks + figures_.l1_latency, there),
          now + trip_};
}

Served MemoryPath::copy(double now, const sim::GlobalTouch& touch, bool passes_l1) {
  // An H200 counts two wavefronts of the tags where other loads take one
  // (l1tex__t_output_wavefronts of the kernels with cp.async).
  const double looked_up = tags_.serve(now, 2 * touch.tag_wavefronts);
  const double there = fetch_all(looked_up - 1, touch, passes_l1);
  return {std::max(now + 1, looked_up - kAhead), std::max(looked_up + figures_.l1_latency, there),
          now + trip_};
}

Served MemoryPath::store(double now, const sim::GlobalTouch& touch) {
  const double looked_up = tags_.serve(now, touch.tag_wavefronts);
  const double wavefronts = std::max(touch.bank_wavefronts, touch.tag_wavefronts);
  const double read = data_.serve(looked_up - 1, wavefronts * figures_.data_stage_clocks);
  double done = read;
  bool is_there = false;
  for (std::size_t i = 0; i < touch.count; ++i) {
    // What is written stays in L1, and goes to L2 all the same. It needs a line there, not its
    // sector: where two warps write a line's halves, an H200 counts the second as a hit.
    lookups_.all += 1;
    if (i == 0 || !SectorCache::share_line(touch.sectors[i], touch.sectors[i - 1]))
      is_there = l1_.has_line(touch.sectors[i]);
    lookups_.hits += is_there;
    l1_.put(touch.sectors[i], read);
    l2_writes_ += 1;
    const double given = l2_write_.serve(read, behind_.l2_write_clocks);
    if (asked_for_.is_first(block_, touch.sectors[i], true) &&
        is_of_share(touch.sectors[i], behind_.dram_write_share))
      dram_.serve(given, behind_.dram_write_clocks);
    done = given;
  }
  return {read, done, now + 1};
}

Served MemoryPath::shared(double now, double wavefronts) {
  const double clocks = wavefronts * figures_.data_stage_clocks;
  const double served = data_.serve(now, clocks);
  shared_clocks_ += clocks;
  return {std::max(now + 1, served - clocks + 1 - kAhead),
          served - figures_.data_stage_clocks + figures_.shared_latency,
          now + figures_.shared_latency};
}

double MemoryPath::write_copied(double now, double wavefronts) {
  shared_clocks_ += wavefronts * figures_.data_stage_clocks;
  return data_.serve(now, wavefronts * figures_.data_stage_clocks);
}

void MemoryPath::add_to(SmBusy& busy) const {
  const bool asks_more = 2 * shared_clocks_ > data_.busy() && data_.busy() > tags_.busy();
  busy[asks_more ? SmPart::shared : SmPart::l1] += std::max(data_.busy(), tags_.busy());
  busy[SmPart::l2] += l2_read_.busy() + l2_write_.busy();
  busy[SmPart::dram] += dram_.busy();
}

double MemoryPath::last() const {
  return std::max({l2_read_.free_at(), l2_write_.free_at(), dram_.free_at(), data_.free_at()});
}

}  // namespace gpuexp
