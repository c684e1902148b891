// When phases of mbarriers end. The simulator ends a phase with the instruction that asks for its
// last bytes; here they come when the memory path has served them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/block.hpp"
#include "timing/release.hpp"

namespace gpuexp {

class PhaseTimes {
 public:
  /// When what comes to an mbarrier is there.
  void add(const sim::MbarrierArrival& arrival, const Release& there);
  /// When the last phase ended of those that have; 0: none has.
  Release ended_at(const sim::Block& block, std::uint64_t offset) const;
  /// The block has exited.
  void forget(const sim::Block& block);

 private:
  struct Phase {
    Release latest;  ///< of what has come to the current one
    Release ended;
  };

  std::map<std::pair<const sim::Block*, std::uint64_t>, Phase> phases_;
};

}  // namespace gpuexp
