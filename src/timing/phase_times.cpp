#include "timing/phase_times.hpp"

#include <algorithm>
#include <utility>

namespace gpuexp {

void PhaseTimes::add(const sim::MbarrierArrival& arrival, const Release& there) {
  Phase& phase = phases_[{arrival.block, arrival.offset}];
  phase.latest = {std::max(phase.latest.when, there.when),
                  std::max(phase.latest.alone, there.alone)};
  if (arrival.ends_phase) phase.ended = std::exchange(phase.latest, {});
}

Release PhaseTimes::ended_at(const sim::Block& block, std::uint64_t offset) const {
  const auto found = phases_.find({&block, offset});
  return found == phases_.end() ? Release{} : found->second.ended;
}

void PhaseTimes::forget(const sim::Block& block) {
  std::erase_if(phases_, [&](const auto& entry) { return entry.first.first == &block; });
}

}  // namespace gpuexp
