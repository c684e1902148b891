#include "timing/sm_sums.hpp"

namespace gpuexp {

void SmSums::add(const SmSums& before, const SmSums& after, double times) {
  const auto grow = [&](double& sum, double from, double to) { sum += (to - from) * times; };
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t state = 0; state < kWarpStates; ++state)
      grow(places[i].in[state], before.places[i].in[state], after.places[i].in[state]);
    grow(lookups[i].all, before.lookups[i].all, after.lookups[i].all);
    grow(lookups[i].hits, before.lookups[i].hits, after.lookups[i].hits);
    grow(lookups[i].extra_wavefronts, before.lookups[i].extra_wavefronts,
         after.lookups[i].extra_wavefronts);
  }
  grow(l2_reads, before.l2_reads, after.l2_reads);
  grow(l2_writes, before.l2_writes, after.l2_writes);
  grow(repeats.loads, before.repeats.loads, after.repeats.loads);
  grow(repeats.stores, before.repeats.stores, after.repeats.stores);
  grow(steps, before.steps, after.steps);
  for (std::size_t i = 0; i < kSmParts; ++i)
    grow(busy.of[i], before.busy.of[i], after.busy.of[i]);
}

}  // namespace gpuexp
