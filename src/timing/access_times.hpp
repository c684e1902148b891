// When what an instruction asks of memory is there, and what it brings to mbarriers: heard from the
// simulator, which has both at once.
#pragma once

#include "sim/block.hpp"
#include "timing/phase_times.hpp"
#include "timing/resident.hpp"

namespace gpuexp {

/// An instruction that is executed.
struct RunningInstruction {
  ResidentWarp* warp = nullptr;
  const TimedOp* op = nullptr;
  double now = 0;
  bool has_asked = false;  ///< for memory
  Served served{};         ///< what it has asked for
  CopyTime copied{};       ///< likewise, of the copy engine
  double copied_bytes = 0;
  bool has_ended_phase = false;  ///< of an mbarrier
  double holds_until = 0;        ///< it lets its warp's next one be issued
  WarpState holds_in = WarpState::wait;
};

class AccessTimes final : public sim::AccessListener {
 public:
  explicit AccessTimes(const SmFigures& figures) : figures_(figures) {}

  /// Of an instruction that is to be executed.
  void begin(ResidentWarp& warp, const TimedOp& op, double now);
  /// It was executed; for no lane, where its guard switched it off.
  Served end(bool has_lanes);

  void hear(const sim::MemoryAccess& access) override;
  void hear(const sim::MbarrierArrival& arrival) override;

  RunningInstruction running;
  PhaseTimes phases;

 private:
  Served end_asynchronous();
  void hear_bulk(const sim::MemoryAccess& access);
  Served served(const sim::MemoryAccess& access);
  Served reach_other(const sim::MemoryAccess& access);
  Served reach_local(const sim::MemoryAccess& access);
  MemoryPath& memory() const { return running.warp->block->sm->memory; }
  MemoryPath& memory_of(const sim::Block& block) const;

  const SmFigures& figures_;
};

}  // namespace gpuexp
