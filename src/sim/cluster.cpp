#include "sim/cluster.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp::sim {

namespace {

// All lanes of a warp must arrive together (PTX ISA, barrier.cluster.aligned). Without .aligned,
// the code reconverges the lanes first.
void check_whole(const Warp& warp) {
  if ((warp.divergence.lanes() | warp.divergence.exited()) == kAllLanes) return;
  const int threads = std::popcount(warp.divergence.lanes());
  throw Fault(FaultKind::barrier,
              fmt::format("{} of a warp {} at the cluster's barrier without the others",
                          counted(threads, "thread"), noun_for(threads, "arrives", "arrive")));
}

template <class Function>
void for_each_warp(const std::vector<std::unique_ptr<Block>>& blocks, const Function& function) {
  for (const auto& block : blocks) {
    for (const auto& warp : block->warps())
      function(*warp);
  }
}

}  // namespace

Cluster::Cluster(const LaunchState& launch, const Extent& place) {
  const Extent& size = launch.cluster;
  for (std::int64_t rank = 0; rank < size.count(); ++rank) {
    const Extent at = place_at(size, rank);
    const Extent block{place.x * size.x + at.x, place.y * size.y + at.y, place.z * size.z + at.z};
    blocks_.push_back(std::make_unique<Block>(
        launch, block, Membership{this, &blocks_, static_cast<unsigned>(rank)}));
  }
}

void Cluster::run() {
  IdleRounds idle;
  RankRounds rounds(*blocks_.front()->launch.global);
  for (;;) {
    rounds.begin();
    const Round round = run_round();
    rounds.end(round);
    if (!round.any_left) return;
    if (!round.any_ran && !release_barrier()) report_barrier();
    idle.add(round, phases_ended());
  }
}

Round Cluster::run_round() {
  Round all;
  for (const auto& block : blocks_) {
    const Round round = block->run_round();
    all.any_left |= round.any_left;
    all.any_ran |= round.any_ran;
    all.any_progress |= round.any_progress;
    all.any_continues |= round.any_continues;
    all.any_signals |= round.any_signals;
    if (round.any_left && block->has_exited()) block->check_end();
    // A block whose own barrier is complete continues, even if other blocks wait.
    if (round.any_left && !round.any_ran) all.any_ran |= block->release_barriers();
  }
  return all;
}

std::uint64_t Cluster::phases_ended() const {
  std::uint64_t sum = barriers_ended_;
  for (const auto& block : blocks_)
    sum += block->phases_ended();
  return sum;
}

void Cluster::arrive(Warp& warp) {
  check_whole(warp);
  if (warp.awaits_cluster)
    throw Fault(FaultKind::barrier,
                "a warp arrives at the cluster's barrier twice without waiting in between");
  warp.awaits_cluster = true;
  ++warp.cluster_arrivals;
  release_barrier();
}

void Cluster::wait(Warp& warp) {
  check_whole(warp);
  if (!warp.awaits_cluster)
    throw Fault(FaultKind::barrier,
                "a warp waits at the cluster's barrier without having arrived there");
  warp.awaits_cluster = false;
  if (warp.cluster_arrivals > barriers_ended_)
    warp.divergence.wait_for_block(Divergence::kClusterBarrier);
}

bool Cluster::release_barriers() {
  bool any = release_barrier();
  for (const auto& block : blocks_)
    any |= block->release_barriers();
  return any;
}

bool Cluster::release_barrier() {
  bool any = false;
  bool all = true;
  for_each_warp(blocks_, [&](const Warp& warp) {
    const bool has_arrived = warp.cluster_arrivals > barriers_ended_;
    any |= has_arrived;
    all &= has_arrived || warp.divergence.has_exited();
  });
  if (!any || !all) return false;
  ++barriers_ended_;
  for (const auto& block : blocks_)
    block->order_accesses();
  for_each_warp(blocks_, [](Warp& warp) {
    if (warp.divergence.lanes_at_block_barrier(Divergence::kClusterBarrier) != 0)
      warp.divergence.release_block_barrier(Divergence::kClusterBarrier);
  });
  return true;
}

// The cluster's barrier is incomplete, so at least one block waits at another barrier.
void Cluster::report_barrier() const {
  std::size_t at_cluster = 0;
  const Block* other = nullptr;
  for (const auto& block : blocks_) {
    std::size_t waiting = 0;
    std::size_t left = 0;
    for (const auto& warp : block->warps()) {
      left += !warp->divergence.has_exited();
      waiting += warp->divergence.lanes_at_block_barrier(Divergence::kClusterBarrier) != 0;
    }
    at_cluster += waiting;
    if (!other && waiting < left) other = block.get();
  }
  try {
    (other ? other : blocks_.front().get())->report_barrier();
  } catch (Fault& fault) {
    if (at_cluster > 0)
      fault.words += fmt::format("; warps waiting at the cluster's barrier: {}", at_cluster);
    fault.set_place(*fault.block, std::nullopt, std::string(fault.place));
    throw;
  }
}

}  // namespace gpuexp::sim
