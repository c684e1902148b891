// When phases of mbarriers end. The simulator ends a phase with the instruction that asks for its
// last bytes; here they come when the memory path has served them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/block.hpp"

namespace gpuexp {

class PhaseTimes {
 public:
  /// What comes to an mbarrier is there at `when`.
  void add(const sim::MbarrierArrival& arrival, double when);
  /// When the last phase ended of those that have; 0: none has.
  double ended_at(const sim::Block& block, std::uint64_t offset) const;
  /// The block has exited.
  void forget(const sim::Block& block);

 private:
  struct Phase {
    double latest = 0;  ///< of what has come to the current one
    double ended_at = 0;
  };

  std::map<std::pair<const sim::Block*, std::uint64_t>, Phase> phases_;
};

}  // namespace gpuexp
