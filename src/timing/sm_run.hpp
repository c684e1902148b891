// Execution of a launch's blocks on the SMs of one cluster, cycle by cycle: time_on_sm() of
// sm_time.hpp runs it.
#pragma once

#include <array>
#include <cstddef>
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
  SmRun(const sim::LaunchState& launch, const Schedule& schedule, const SmParameters& parameters,
        const BlocksOfSm& blocks, const std::function<bool()>& stop);

  SmTime run();

 private:
  bool has_enough() const;
  bool found_uneven();
  SmSums sums() const;
  void add_busy(SmBusy& busy) const;
  double whole(double clock) const { return clock + skipped_; }
  SmProgress progress() const;
  void end_window();
  void fast_forward(std::size_t warps);
  void resume_after_iterations();
  std::size_t free_place() const;
  void start_cluster(double when);
  void add_block(ResidentCluster& cluster, std::size_t rank, double when);
  void end_warp(ResidentCluster& cluster, double now);
  void issue_next();
  void issue(Scheduler& scheduler, ResidentWarp& warp, double now);
  void record_states(const ResidentWarp& warp, const Scheduler& scheduler, double now);
  void take_pipe(Scheduler& scheduler, const TimedOp& op, double now);
  double step(ResidentWarp& warp, double now);
  void wake(ResidentCluster& cluster, double now);
  void time_out();
  void release_barriers(ResidentCluster& cluster, double now);
  void invalidate_choices(ResidentCluster& cluster);

  const sim::LaunchState& launch_;
  const Schedule& schedule_;
  const SmParameters& parameters_;
  const BlocksOfSm& blocks_;
  const std::function<bool()>& stop_;
  BlockSectors requested_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<ResidentCluster>> resident_;
  std::int64_t next_block_ = 0;
  std::array<double, kIssuedTo> pipe_clocks_{};
  SmTime time_;
  AccessTimes access_;
  WarpWaits waits_;
  int timed_out_ = 0;  ///< number of time-outs of warps since a phase ended
  double now_ = 0;
  double skipped_ = 0;                 ///< cycles of iterations that were not timed
  std::uint64_t next_even_check_ = 0;  ///< number of instructions at which blocks are compared next
  std::uint64_t blocks_ended_ = 0;     ///< number of ended clusters; without clusters, of blocks
  SteadyState steady_;
};

}  // namespace gpuexp
