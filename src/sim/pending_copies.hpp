// Copies by cp.async that nothing has waited for, by the thread that issued them. A thread
// completes its own copies by waiting for their group. A thread that waits for a phase of an
// mbarrier completes the copies whose completion was an arrival of that phase
// (cp.async.mbarrier.arrive).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/memory_access.hpp"

namespace gpuexp::sim {

class PendingCopies {
 public:
  struct Bytes {
    std::uint64_t address = 0;
    unsigned width = 0;
  };

  explicit PendingCopies(std::size_t warps) : warps_(warps) {}

  void add(unsigned warp, const MemoryAccess& access);
  /// Assigns the lanes' copies since their last commit to one group.
  void commit(unsigned warp, LaneMask lanes);
  /// Removes and returns the lanes' copies in all but their `left` newest groups.
  std::vector<Bytes> complete_groups(unsigned warp, LaneMask lanes, std::uint32_t left);

  /// Records that an mbarrier was used, before its arrival takes effect.
  void add_mbarrier(std::uint64_t mbarrier) { mbarriers_[mbarrier]; }
  bool is_mbarrier(std::uint64_t address) const;
  /// The completion of the lane's earlier copies is an arrival of the mbarrier's current phase.
  void arrive(std::uint64_t mbarrier, unsigned warp, unsigned lane);
  void end_phase(std::uint64_t mbarrier);
  /// Removes and returns the copies whose arrivals belong to phases that have ended.
  std::vector<Bytes> complete_phases(std::uint64_t mbarrier);

 private:
  struct Copy {
    Lanes64 address;
    Lanes32 group;
    Lanes32 number;  ///< number of copies that the lane had issued before
    LaneMask lanes = 0;
    unsigned width = 0;
  };
  struct WarpCopies {
    std::vector<Copy> pending;
    Lanes32 group{};   ///< group of each lane's next copy
    Lanes32 number{};  ///< number of each lane's next copy
  };
  struct Arrival {
    unsigned warp = 0;
    unsigned lane = 0;
    std::uint32_t copies = 0;  ///< number of copies that the lane had issued
  };
  struct Phases {
    std::vector<Arrival> current;
    std::vector<Arrival> ended;  ///< arrivals of ended phases, which no thread has waited for
  };

  template <class IsDone>
  void take(unsigned warp, LaneMask lanes, const IsDone& is_done, std::vector<Bytes>& done);

  std::vector<WarpCopies> warps_;
  std::map<std::uint64_t, Phases> mbarriers_;  ///< by offset in shared memory
};

}  // namespace gpuexp::sim
