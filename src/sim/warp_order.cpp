#include "sim/warp_order.hpp"

#include <algorithm>

namespace gpuexp::sim {

void WarpOrder::add(Known& to, const Known& more) {
  for (unsigned about = 0; about < kWarps; ++about)
    to[about] = std::max(to[about], more[about]);
}

// What a warp knows about its own accesses concerns the order of its lanes, which flags do not
// change.
void WarpOrder::learn(unsigned warp, const Known& more) {
  const BlockTime own = known_[warp][warp];
  add(known_[warp], more);
  known_[warp][warp] = own;
}

void WarpOrder::arrive(unsigned barrier, unsigned warp) {
  Known& contributed = contributed_[barrier];
  add(contributed, known_[warp]);
  contributed[warp] = clock_++;
}

void WarpOrder::release(unsigned barrier, WarpMask waiters, WarpMask whole) {
  Known& contributed = contributed_[barrier];
  for_each_lane(waiters, [&](unsigned warp) {
    learn(warp, contributed);
    if (whole >> warp & 1) known_[warp][warp] = std::max(known_[warp][warp], contributed[warp]);
  });
  contributed = {};
}

void WarpOrder::fence(unsigned warp) {
  if (!is_used()) return;
  constexpr std::size_t kMaxFences = 1024;
  std::vector<Fence>& fences = fences_[warp];
  // A warp rarely reads a flag that was stored more than 500 fences ago.
  if (fences.size() == kMaxFences) fences.erase(fences.begin(), fences.begin() + kMaxFences / 2);
  Fence& fence = fences.emplace_back(Fence{clock_, known_[warp]});
  fence.known[warp] = clock_++;
}

const WarpOrder::Fence* WarpOrder::fence_before(unsigned warp, BlockTime time) const {
  const std::vector<Fence>& fences = fences_[warp];
  const auto after = std::lower_bound(fences.begin(), fences.end(), time,
                                      [](const Fence& f, BlockTime t) { return f.time < t; });
  return after == fences.begin() ? nullptr : &*(after - 1);
}

void WarpOrder::read_flag(unsigned warp, unsigned writer, BlockTime time) {
  if (!is_used() || warp == writer) return;
  if (const Fence* const fence = fence_before(writer, time)) learn(warp, fence->known);
}

void WarpOrder::read_atomic(unsigned warp, std::uint64_t address) {
  const auto published = atomics_.find(address);
  if (published != atomics_.end()) learn(warp, published->second);
}

void WarpOrder::change_atomic(unsigned warp, std::uint64_t address) {
  if (!is_used()) return;
  read_atomic(warp, address);
  if (!fences_[warp].empty()) add(atomics_[address], fences_[warp].back().known);
}

void WarpOrder::begin_atomics(std::uint64_t address, unsigned writer, BlockTime time) {
  if (!is_used()) return;
  const Fence* const fence = fence_before(writer, time);
  if (fence)
    atomics_[address] = fence->known;
  else
    atomics_.erase(address);
}

void WarpOrder::wait_for_phase(unsigned warp, std::uint64_t mbarrier, bool completes) {
  if (!is_used()) return;
  if (completes) completed_[mbarrier][warp] = clock_++;
  const auto completed = completed_.find(mbarrier);
  if (completed != completed_.end()) learn(warp, completed->second);
}

void WarpOrder::order_all() {
  if (!is_used()) return;
  for (std::vector<Fence>& fences : fences_)
    fences.clear();
  atomics_.clear();
  completed_.clear();
}

}  // namespace gpuexp::sim
