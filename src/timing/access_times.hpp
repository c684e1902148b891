// Completion times of an instruction's memory accesses and mbarrier arrivals. The simulator reports
// both to this listener while it executes the instruction.
#pragma once

#include "sim/block.hpp"
#include "timing/phase_times.hpp"
#include "timing/resident.hpp"

namespace gpuexp {

/// The instruction that the simulator is executing.
struct RunningInstruction {
  ResidentWarp* warp = nullptr;
  const TimedOp* op = nullptr;
  double now = 0;
  bool has_requested = false;  ///< whether it accessed memory
  Served served{};             ///< completion of its memory accesses
  CopyTime copied{};           ///< completion of its bulk copies
  double copied_bytes = 0;
  bool has_ended_phase = false;  ///< whether it completed an mbarrier phase
  double holds_until = 0;        ///< the warp's next instruction cannot issue earlier
  WarpState holds_in = WarpState::wait;
};

class AccessTimes final : public sim::AccessListener {
 public:
  explicit AccessTimes(const SmParameters& parameters) : parameters_(parameters) {}

  /// Call before the instruction is executed.
  void begin(ResidentWarp& warp, const TimedOp& op, double now);
  /// Returns the completion times. `has_lanes` is false if the guard is false in all lanes.
  Served end(bool has_lanes);

  void hear(const sim::MemoryAccess& access) override;
  void hear(const sim::MbarrierArrival& arrival) override;

  RunningInstruction running;
  PhaseTimes phases;

 private:
  Served end_asynchronous();
  void hear_bulk(const sim::MemoryAccess& access);
  Served served(const sim::MemoryAccess& access);
  Served access_cluster(const sim::MemoryAccess& access);
  Served access_local(const sim::MemoryAccess& access);
  MemoryPath& memory() const { return running.warp->block->sm->memory; }
  MemoryPath& memory_of(const sim::Block& block) const;

  const SmParameters& parameters_;
};

}  // namespace gpuexp
