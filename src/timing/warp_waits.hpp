// Computes what a warp waits for before its next instruction can issue, and until when.
#pragma once

#include <vector>

#include "timing/phase_times.hpp"
#include "timing/resident.hpp"

namespace gpuexp {

class WarpWaits {
 public:
  /// `places` receives the cycles for which hold() holds warps, by instruction.
  WarpWaits(const sim::LaunchState& launch, const Schedule& schedule, const PhaseTimes& phases,
            std::vector<WarpClocks>& places)
      : launch_(launch), schedule_(schedule), phases_(phases), places_(places) {}

  /// Computes when the warp's next instruction could issue if its pipe and scheduler were free.
  void find_ready(ResidentWarp& warp);
  /// Holds the warp in `state` until `until`, then calls find_ready().
  void hold(ResidentWarp& warp, double until, WarpState state);
  void set_scoreboards(ResidentWarp& warp, const TimedOp& op, const Served& served);
  /// Whether the warp sleeps at its next instruction, because the phases that it checks have not
  /// ended. If they have ended, sets ResidentWarp::phase_ended.
  bool awaits_phase(ResidentWarp& warp, const TimedOp& op) const;

 private:
  const sim::LaunchState& launch_;
  const Schedule& schedule_;
  const PhaseTimes& phases_;
  std::vector<WarpClocks>& places_;
};

}  // namespace gpuexp
