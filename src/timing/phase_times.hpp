// End times of mbarrier phases. The simulator ends a phase when the phase's last bytes are
// requested; PhaseTimes ends it when the memory path has served these bytes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/block.hpp"
#include "timing/release.hpp"

namespace gpuexp {

class PhaseTimes {
 public:
  /// Adds an arrival that completes at `there`.
  void add(const sim::MbarrierArrival& arrival, const Release& there);
  /// End of the mbarrier's last completed phase; 0 if no phase has ended.
  Release ended_at(const sim::Block& block, std::uint64_t offset) const;
  void forget(const sim::Block& block);

 private:
  struct Phase {
    Release latest;
    Release ended;
  };

  std::map<std::pair<const sim::Block*, std::uint64_t>, Phase> phases_;
};

}  // namespace gpuexp
