// The blocks of one SM, or of a cluster's SMs, as their schedulers issue their instructions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "timing/access_times.hpp"
#include "timing/fast_forward.hpp"
#include "timing/resident.hpp"
#include "timing/sm_time.hpp"
#include "timing/warp_waits.hpp"

namespace gpuexp {

class SmRun {
 public:
  SmRun(const sim::LaunchState& launch, const Schedule& schedule, const SmFigures& figures,
        const BlocksOfSm& blocks, const std::function<bool()>& stop);

  SmTime run();

 private:
  bool has_enough() const;
  SmSums sums() const;
  void add_busy(SmBusy& busy) const;
  /// Of a clock of the turns that are timed.
  double whole(double clock) const { return clock + skipped_; }
  SmProgress progress() const;
  void end_window();
  void fast_forward(std::size_t warps);
  void go_on_after_turns();
  std::size_t free_place() const;
  void start_cluster(double when);
  void add_block(ResidentCluster& cluster, std::size_t rank, double when);
  void end_warp(ResidentCluster& cluster, double now);
  void choose(Scheduler& scheduler) const;
  void issue_next();
  void issue(Scheduler& scheduler, ResidentWarp& warp, double now);
  void note_states(const ResidentWarp& warp, const Scheduler& scheduler, double now);
  std::array<double, kIssuedTo> could_issue_to(const Scheduler& scheduler) const;
  void take_pipe(Scheduler& scheduler, const TimedOp& op, double now);
  double step(ResidentWarp& warp, double now);
  void wake(ResidentCluster& cluster, double now);
  void time_out();
  void release_barriers(ResidentCluster& cluster, double now);
  void schedule_anew(ResidentCluster& cluster);

  const sim::LaunchState& launch_;
  const Schedule& schedule_;
  const SmFigures& figures_;
  const BlocksOfSm& blocks_;
  const std::function<bool()>& stop_;
  SectorsOfBlocks asked_for_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<ResidentCluster>> resident_;
  std::int64_t next_block_ = 0;
  std::array<double, kIssuedTo> pipe_clocks_{};  ///< of all four of each SM
  SmTime time_;
  AccessTimes access_;
  WarpWaits waits_;
  int timed_out_ = 0;  ///< warps that try phases, since one has ended
  double now_ = 0;
  double skipped_ = 0;              ///< clocks of turns that were not timed
  std::uint64_t blocks_ended_ = 0;  ///< clusters, of which one has as many blocks as another
  SteadyState steady_;
};

}  // namespace gpuexp
