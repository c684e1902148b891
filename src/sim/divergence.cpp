#include "sim/divergence.hpp"

#include <bit>

namespace gpuexp::sim {

namespace {

// Lanes at a WARPSYNC wait for lanes with the same mask. Other lanes of the mask may be at an
// earlier WARPSYNC, with a smaller mask.
bool have_mask(LaneMask group, const std::array<LaneMask, kLanes>& masks, LaneMask exited) {
  return (group & ~lanes_where([&](unsigned l) { return (masks[l] & ~exited) == group; })) == 0;
}

}  // namespace

void Divergence::branch(LaneMask taken, std::uint32_t target) {
  const LaneMask others = running_.lanes & ~taken;
  if (others == 0) {
    running_.next = target;
  } else if (taken != 0) {
    if (order_) order_->part(running_.lanes);
    ready_.push_back({taken, target});
    running_.lanes = others;
  }
}

void Divergence::branch_each(LaneMask lanes, const Lanes32& targets) {
  if (order_) order_->part(running_.lanes);
  const LaneMask others = running_.lanes & ~lanes;
  if (others != 0) ready_.push_back({others, running_.next});
  add_ready(lanes, targets.of);
  run_another();
}

void Divergence::exit(LaneMask lanes) {
  if (order_ && lanes != running_.lanes) order_->part(running_.lanes);
  exited_ |= lanes;
  running_.lanes &= ~lanes;
  release_all();
  if (running_.lanes == 0) run_another();
}

void Divergence::set_barrier(unsigned barrier) {
  for_each_lane(running_.lanes,
                [&](unsigned lane) { participants_[barrier][lane] = running_.lanes; });
}

void Divergence::wait_at(unsigned barrier, LaneMask lanes) {
  const auto first = first_lane(lanes);
  const LaneMask group = participants_[barrier][first] & ~exited_;
  if (lanes == group && lanes == running_.lanes) return;  // all have arrived
  if (order_) order_->part(running_.lanes);
  waiting_[barrier] |= lanes;
  for_each_lane(lanes, [&](unsigned lane) { resume_[barrier][lane] = running_.next; });
  running_.lanes &= ~lanes;
  const LaneMask others = running_.lanes;
  if (others != 0) ready_.push_back(running_);
  running_.lanes = 0;
  release(barrier);
  run_another();
}

void Divergence::leave_barrier(unsigned barrier, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned lane) {
    for_each_lane(participants_[barrier][lane],
                  [&](unsigned other) { participants_[barrier][other] &= ~(LaneMask{1} << lane); });
    participants_[barrier][lane] = 0;
  });
  release(barrier);
}

void Divergence::wait_for(LaneMask with) {
  for_each_lane(running_.lanes, [&](unsigned lane) { participants_[kWarpSync][lane] = with; });
  wait_at(kWarpSync, running_.lanes);
}

void Divergence::wait_for(const Lanes32& with) {
  for_each_lane(running_.lanes,
                [&](unsigned lane) { participants_[kWarpSync][lane] = with[lane]; });
  wait_at(kWarpSync, running_.lanes);
}

void Divergence::collect(const Lanes32& with, std::uint32_t target) {
  for_each_lane(running_.lanes, [&](unsigned lane) {
    participants_[kCollective][lane] = with[lane];
    collective_targets_[lane] = target;
  });
  wait_at(kCollective, running_.lanes);
}

void Divergence::wait_for_block(unsigned barrier) {
  at_block_barrier_[barrier] |= running_.lanes;
  block_waiters_[barrier].push_back(running_);
  running_.lanes = 0;
  run_another();
}

void Divergence::release_block_barrier(unsigned barrier) {
  std::vector<LaneGroup>& waiters = block_waiters_[barrier];
  ready_.insert(ready_.end(), waiters.begin(), waiters.end());
  waiters.clear();
  at_block_barrier_[barrier] = 0;
  if (running_.lanes == 0) run_another();
}

std::vector<WaitingLanes> Divergence::warp_waiters() const {
  std::vector<WaitingLanes> all;
  for (unsigned barrier = 0; barrier < kAllBarriers; ++barrier) {
    const auto& masks = participants_[barrier];
    for (LaneMask rest = waiting_[barrier]; rest != 0;) {
      const unsigned first = first_lane(rest);
      const auto is_alike = [&](unsigned l) {
        return masks[l] == masks[first] && resume_[barrier][l] == resume_[barrier][first];
      };
      const LaneMask lanes = rest & lanes_where(is_alike);
      const LaneMask arrived =
          waiting_[barrier] & lanes_where([&](unsigned l) { return masks[l] == masks[first]; });
      all.push_back({lanes, resume_[barrier][first], masks[first] & ~exited_ & ~arrived,
                     barrier >= kBarriers});
      rest &= ~lanes;
    }
  }
  return all;
}

void Divergence::yield() {
  if (ready_.empty()) return;
  ready_.insert(ready_.begin(), running_);
  running_.lanes = 0;
  run_another();
}

void Divergence::run_another() {
  if (ready_.empty()) return;
  running_ = ready_.back();
  ready_.pop_back();
}

// Releases each group whose lanes have all arrived or exited. Lanes of a group that arrived at the
// same instruction continue together. In a recursive function, lanes may wait at the same barrier
// at different depths: the deeper ones have saved their participants before they reused the
// barrier, so that their current participants lack the other lanes.
void Divergence::release(unsigned barrier) {
  LaneMask candidates = waiting_[barrier];
  while (candidates != 0) {
    const auto lane = static_cast<unsigned>(std::countr_zero(candidates));
    const LaneMask group = participants_[barrier][lane] & ~exited_;
    candidates &= ~(LaneMask{1} << lane);
    if ((group & ~waiting_[barrier]) != 0) continue;
    LaneMask missing = 0;
    for_each_lane(group, [&](unsigned l) { missing |= group & ~participants_[barrier][l]; });
    if (barrier < kBarriers && missing != 0) continue;
    if (barrier == kWarpSync && !have_mask(group, participants_[barrier], exited_)) continue;
    candidates &= ~group;
    waiting_[barrier] &= ~group;
    if (order_) order_->meet(group);
    if (barrier == kCollective) {
      ready_.push_back({group, resume_[barrier][lane]});
    } else {
      add_ready(group, resume_[barrier]);
    }
  }
}

void Divergence::add_ready(LaneMask lanes, const std::array<std::uint32_t, kLanes>& next) {
  while (lanes != 0) {
    const std::uint32_t place = next[first_lane(lanes)];
    LaneMask together = 0;
    for_each_lane(lanes, [&](unsigned lane) { together |= LaneMask{next[lane] == place} << lane; });
    ready_.push_back({together, place});
    lanes &= ~together;
  }
}

void Divergence::release_all() {
  for (unsigned barrier = 0; barrier < kAllBarriers; ++barrier) {
    if (waiting_[barrier] != 0) release(barrier);
  }
}

}  // namespace gpuexp::sim
