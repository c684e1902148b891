#include "sim/observation.hpp"

#include <algorithm>
#include <bit>

namespace gpuexp::sim {

namespace {

constexpr std::uint64_t PlaceCounts::*kSums[] = {
    &PlaceCounts::ideal_load_sectors, &PlaceCounts::ideal_store_sectors,
    &PlaceCounts::shared_requests, &PlaceCounts::async_write_wavefronts};

std::uint64_t ideal_sectors(const MemoryAccess& access, std::uint64_t sectors) {
  constexpr std::uint64_t kSectorBytes = 32;
  const auto lanes = static_cast<std::uint64_t>(std::popcount(access.lanes));
  return std::min(sectors, (lanes * access.width + kSectorBytes - 1) / kSectorBytes);
}

// Only non-atomic accesses through the LSU count as requests.
void count_shared(PlaceCounts& counts, const MemoryCounts& before, const MemoryAccess& access) {
  const bool is_counted = access.kind == Access::load || access.kind == Access::store ||
                          access.kind == Access::async_store;
  if (is_counted) ++counts.shared_requests;
  const std::uint64_t wavefronts = counts.memory.shared_load_wavefronts +
                                   counts.memory.shared_store_wavefronts -
                                   before.shared_load_wavefronts - before.shared_store_wavefronts;
  const std::uint64_t conflicts = counts.memory.shared_conflicts - before.shared_conflicts;
  if (wavefronts > conflicts)
    counts.bank_conflict = std::max(counts.bank_conflict, wavefronts / (wavefronts - conflicts));
  counts.async_write_wavefronts += counts.memory.global_wavefronts - before.global_wavefronts;
}

}  // namespace

void PlaceCounts::add(const PlaceCounts& more, std::uint64_t times) {
  for (const MemoryCounts::Count count : MemoryCounts::kAll)
    memory.*count += times * more.memory.*count;
  for (const auto sum : kSums)
    this->*sum += times * more.*sum;
  bank_conflict = std::max(bank_conflict, more.bank_conflict);
  lowest = std::min(lowest, more.lowest);
  highest = std::max(highest, more.highest);
  seen |= more.seen;
}

void PlaceCounts::halve() {
  for (const MemoryCounts::Count count : MemoryCounts::kAll)
    memory.*count = (memory.*count + 1) / 2;
  for (const auto sum : kSums)
    this->*sum = (this->*sum + 1) / 2;
}

void count(PlaceCounts& counts, const MemoryAccess& access) {
  if (access.lanes == 0) return;
  const MemoryCounts before = counts.memory;
  count(counts.memory, access);
  counts.seen |= PlaceCounts::bit_of(access.space, access.kind);
  counts.ideal_load_sectors +=
      ideal_sectors(access, counts.memory.load_sectors - before.load_sectors);
  counts.ideal_store_sectors +=
      ideal_sectors(access, counts.memory.store_sectors - before.store_sectors);
  if (access.space == Space::cluster) return;
  if (access.space == Space::shared) return count_shared(counts, before, access);
  const std::uint64_t first = access.address[first_lane(access.lanes)];
  counts.lowest = std::min(counts.lowest, first);
  counts.highest = std::max(counts.highest, first);
}

Observed::Observed(const Observation& of, std::size_t count, bool is_traced_block) {
  if (of.places) places.resize(count);
  if (!of.warp || !is_traced_block) return;
  warp_ = *of.warp;
  trace.emplace().executions.resize(count);
  last_step_.resize(count);
}

void Observed::note(std::uint32_t place, unsigned warp, std::uint64_t step,
                    const MemoryAccess& access) {
  if (!places.empty()) count(places[place], access);
  if (trace && warp == warp_.warp) trace_access(place, step, access);
}

// One execution of an instruction can make two accesses, for example of cp.async.
void Observed::trace_access(std::uint32_t place, std::uint64_t step, const MemoryAccess& access) {
  std::uint64_t& executions = trace->executions[place];
  if (executions == 0 || last_step_[place] != step) ++executions;
  last_step_[place] = step;
  if (executions != warp_.execution + 1 || access.lanes == 0) return;
  trace->accesses.push_back(
      {place, access.space, access.kind, access.width, access.lanes, access.address});
}

}  // namespace gpuexp::sim
