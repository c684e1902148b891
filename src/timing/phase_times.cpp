#include "timing/phase_times.hpp"

#include <algorithm>

namespace gpuexp {

void PhaseTimes::add(const sim::MbarrierArrival& arrival, double when) {
  Phase& phase = phases_[{arrival.block, arrival.offset}];
  phase.latest = std::max(phase.latest, when);
  if (!arrival.ends_phase) return;
  phase.ended_at = phase.latest;
  phase.latest = 0;
}

double PhaseTimes::ended_at(const sim::Block& block, std::uint64_t offset) const {
  const auto found = phases_.find({&block, offset});
  return found == phases_.end() ? 0 : found->second.ended_at;
}

void PhaseTimes::forget(const sim::Block& block) {
  std::erase_if(phases_, [&](const auto& entry) { return entry.first.first == &block; });
}

}  // namespace gpuexp
