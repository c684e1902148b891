// What a warp waits for before its next instruction can be issued, and until when.
#pragma once

#include <vector>

#include "timing/phase_times.hpp"
#include "timing/resident.hpp"

namespace gpuexp {

class WarpWaits {
 public:
  /// `places`: to whom waits are added that begin with an instruction's execution.
  WarpWaits(const sim::LaunchState& launch, const Schedule& schedule, const PhaseTimes& phases,
            std::vector<WarpClocks>& places)
      : launch_(launch), schedule_(schedule), phases_(phases), places_(places) {}

  /// When the warp's next instruction can be issued, but for its pipe and its scheduler.
  void find_ready(ResidentWarp& warp);
  /// Likewise, and not before `until`.
  void hold(ResidentWarp& warp, double until, WarpState state);
  /// What others wait for, of an instruction that was executed.
  void set_scoreboards(ResidentWarp& warp, const TimedOp& op, const Served& served);
  /// Whether the warp sleeps at its next instruction, because phases have not ended that it asks
  /// for. If not, it knows when they did.
  bool awaits_phase(ResidentWarp& warp, const TimedOp& op) const;

 private:
  const sim::LaunchState& launch_;
  const Schedule& schedule_;
  const PhaseTimes& phases_;
  std::vector<WarpClocks>& places_;
};

}  // namespace gpuexp
