#include "sim/pending_copies.hpp"

#include <utility>

namespace gpuexp::sim {

void PendingCopies::add(unsigned warp, const MemoryAccess& access) {
  WarpCopies& copies = warps_[warp];
  copies.pending.push_back(
      {access.address, copies.group, copies.number, access.lanes, access.width});
  for_each_lane(access.lanes, [&](unsigned l) { ++copies.number[l]; });
}

void PendingCopies::commit(unsigned warp, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) { ++warps_[warp].group[l]; });
}

template <class IsDone>
void PendingCopies::take(unsigned warp, LaneMask lanes, const IsDone& is_done,
                         std::vector<Bytes>& done) {
  std::vector<Copy>& pending = warps_[warp].pending;
  for (Copy& copy : pending) {
    for_each_lane(copy.lanes & lanes, [&](unsigned l) {
      if (!is_done(copy, l)) return;
      copy.lanes &= ~(LaneMask{1} << l);
      done.push_back({copy.address[l], copy.width});
    });
  }
  std::erase_if(pending, [](const Copy& copy) { return copy.lanes == 0; });
}

std::vector<PendingCopies::Bytes> PendingCopies::complete_groups(unsigned warp, LaneMask lanes,
                                                                 std::uint32_t left) {
  const Lanes32& next = warps_[warp].group;
  std::vector<Bytes> done;
  take(
      warp, lanes, [&](const Copy& copy, unsigned l) { return copy.group[l] + left < next[l]; },
      done);
  return done;
}

bool PendingCopies::is_mbarrier(std::uint64_t address) const {
  constexpr std::uint64_t kBytes = 8;
  return !mbarriers_.empty() && mbarriers_.contains(address / kBytes * kBytes);
}

void PendingCopies::arrive(std::uint64_t mbarrier, unsigned warp, unsigned lane) {
  const std::uint32_t copies = warps_[warp].number[lane];
  if (copies > 0) mbarriers_[mbarrier].current.push_back({warp, lane, copies});
}

void PendingCopies::end_phase(std::uint64_t mbarrier) {
  const auto found = mbarriers_.find(mbarrier);
  if (found == mbarriers_.end()) return;
  Phases& phases = found->second;
  phases.ended.insert(phases.ended.end(), phases.current.begin(), phases.current.end());
  phases.current.clear();
}

std::vector<PendingCopies::Bytes> PendingCopies::complete_phases(std::uint64_t mbarrier) {
  std::vector<Bytes> done;
  const auto found = mbarriers_.find(mbarrier);
  if (found == mbarriers_.end()) return done;
  for (const Arrival& arrival : std::exchange(found->second.ended, {})) {
    take(
        arrival.warp, LaneMask{1} << arrival.lane,
        [&](const Copy& copy, unsigned l) { return copy.number[l] < arrival.copies; }, done);
  }
  return done;
}

}  // namespace gpuexp::sim
