// Computes completion times of an instruction's memory accesses and mbarrier arrivals, which the
// simulator reports to this listener while it executes the instruction.
#pragma once

#include "sim/block.hpp"
#include "timing/phase_times.hpp"
#include "timing/resident.hpp"

namespace gpuexp {

struct RunningInstruction {
  ResidentWarp* warp = nullptr;
  const TimedOp* op = nullptr;
  double now = 0;
  bool has_requested = false;
  Served served{};    ///< completion of the memory accesses
  CopyTime copied{};  ///< completion of the bulk copies
  double copied_bytes = 0;
  bool has_ended_phase = false;
  double holds_until = 0;  ///< fence, cluster barrier: earliest issue of the next instruction
  WarpState holds_in = WarpState::wait;
};

class AccessTimes final : public sim::AccessListener {
 public:
  explicit AccessTimes(const SmParameters& parameters) : parameters_(parameters) {}

  /// Call before the instruction is executed.
  void begin(ResidentWarp& warp, const TimedOp& op, double now);
  /// Returns the completion times. `has_lanes` is false if no lane's guard is true.
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
