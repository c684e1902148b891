// When warps continue that wait for a barrier, a phase of an mbarrier or products of other warps.
#include <cstddef>
#include <optional>

#include "sim/cluster.hpp"
#include "timing/sm_run.hpp"

namespace gpuexp {

// Resumes warps whose phases have ended, or whose products the other warps have started.
void SmRun::wake(ResidentCluster& cluster, double now) {
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      if (warp->awaits_products) {
        waits_.find_ready(*warp);
      } else if (warp->awaits_phase && !waits_.awaits_phase(*warp, schedule_.ops[warp->next])) {
        warp->awaits_phase = false;
        step(*warp, now);
      }
    }
  }
  invalidate_choices(cluster);
}

void SmRun::invalidate_choices(ResidentCluster& cluster) {
  for (const auto& block : cluster.blocks) {
    for (Scheduler& scheduler : block->sm->schedulers)
      scheduler.is_changed = true;
  }
}

// Called if all warps sleep. After a time limit, the hardware resumes a warp that waits for a
// phase. Throws a fault if no warp waits for a phase, or if kMaxTimeouts resumptions have ended no
// phase.
void SmRun::time_out() {
  constexpr int kMaxTimeouts = 1 << 12;
  // Time limit in cycles. Not documented; affects only kernels whose warps all sleep.
  constexpr double kSuspended = 1 << 14;
  ResidentWarp* first = nullptr;
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        if (warp->awaits_phase && (!first || warp->free_from < first->free_from))
          first = warp.get();
      }
    }
  }
  if (!first) resident_.front()->cluster->report_barrier();
  if (++timed_out_ > kMaxTimeouts) {
    sim::Fault fault(sim::FaultKind::barrier, "warps wait for phases of mbarriers that never end");
    fault.set_place(first->block->block->place, std::nullopt,
                    sim::source_line(*launch_.program, first->next));
    throw fault;
  }
  first->awaits_phase = false;
  first->phase_ended = {};
  first->free_from += kSuspended;
  step(*first, first->free_from);
  invalidate_choices(*first->block->cluster);
}

void SmRun::release_barriers(ResidentCluster& cluster, double now) {
  cluster.cluster->release_barriers();
  const AsyncParameters& async = parameters_.async;
  const bool is_cluster_barrier = cluster.cluster->barriers_ended() != cluster.barriers_ended;
  if (is_cluster_barrier) {
    const std::size_t more = cluster.blocks.front()->warps.size() - 1;
    cluster.barriers_ended = cluster.cluster->barriers_ended();
    cluster.barrier_at =
        now + async.cluster_barrier + async.cluster_barrier_warp * static_cast<double>(more);
  }
  const double block_at = now + parameters_.barrier_latency;
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      if (!warp->at_barrier || !warp->warp->divergence.is_running()) continue;
      warp->at_barrier = false;
      time_.steps += block->has_requested;
      block->has_requested = false;
      const bool is_block_barrier = schedule_.ops[warp->next].kind != TimedOp::Kind::cluster_wait;
      warp->alone += is_block_barrier ? parameters_.barrier_latency : async.cluster_barrier;
      waits_.hold(*warp, is_block_barrier ? block_at : cluster.barrier_at, WarpState::barrier);
    }
  }
  invalidate_choices(cluster);
}

}  // namespace gpuexp
