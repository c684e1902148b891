#include "timing/access_times.hpp"

#include <algorithm>
#include <bit>

namespace gpuexp {

// An instruction may access memory twice, as cp.async does: what it writes, it writes when it has
// read it. What products of a warpgroup read, and what asynchronous stores write, is not the
// warp's.
void AccessTimes::hear(const sim::MemoryAccess& access) {
  if (running.op->kind == TimedOp::Kind::bulk) return hear_bulk(access);
  if (access.kind == sim::Access::matrix_load || access.kind == sim::Access::bulk_store) return;
  Served& all = running.served;
  if (access.space == sim::Space::shared && access.kind == sim::Access::async_store) {
    all.done =
        std::max(all.done, memory().write_copied(running.now, sim::shared_wavefronts(access)));
    return;
  }
  const Served one = served(access);
  all = running.has_asked ? Served{std::max(all.taken, one.taken), std::max(all.done, one.done),
                                   std::max(all.alone, one.alone)}
                          : one;
  running.has_asked = true;
}

Served AccessTimes::served(const sim::MemoryAccess& access) {
  const double now = running.now;
  const bool passes_l1 = running.op->passes_l1;
  if (access.space == sim::Space::cluster) return reach_other(access);
  if (access.space == sim::Space::shared) return memory().shared(now, shared_wavefronts(access));
  if (access.kind == sim::Access::store) return memory().store(now, touch_of(access));
  if (access.kind == sim::Access::async_load)
    return memory().copy(now, touch_of(access), passes_l1);
  return memory().load(now, touch_of(access), passes_l1 || access.kind == sim::Access::atomic);
}

// Shared memory of another block. All lanes are taken to reach the block of the first.
Served AccessTimes::reach_other(const sim::MemoryAccess& access) {
  const auto lane = static_cast<unsigned>(std::countr_zero(access.lanes));
  const sim::SharedPlace at =
      running.warp->block->block->shared_place(static_cast<std::uint32_t>(access.address[lane]));
  const AsyncFigures& async = figures_.async;
  return memory().reach(
      running.now, shared_wavefronts(access) * kWavefrontBytes,
      access.kind == sim::Access::store ? async.remote_store_line : async.remote_load_line,
      memory_of(at.block));
}

// A bulk copy's rows of global memory, one after the other; what it has of shared memory follows
// from them, but where it copies from one block's to another's.
void AccessTimes::hear_bulk(const sim::MemoryAccess& access) {
  using Moves = TimedOp::Moves;
  const TimedOp& op = *running.op;
  const AsyncFigures& async = figures_.async;
  const std::uint64_t at = access.address[static_cast<unsigned>(std::countr_zero(access.lanes))];
  const bool is_load = access.kind == sim::Access::bulk_load;
  const bool is_global = access.space == sim::Space::global;
  CopyTime time;
  if (op.moves == Moves::within_cluster && is_load && !is_global) {
    const Served served =
        memory().reach(running.now, access.width, async.remote_store_line, memory());
    time = {served.taken, served.done, served.alone};
  } else if (op.moves == Moves::to_shared && is_load && is_global) {
    time = memory().copy_in(running.now + (op.is_tensor ? async.tensor_copy_behind : 0), at,
                            access.width);
  } else if (op.moves != Moves::to_shared && !is_load && is_global) {
    const bool adds = op.moves == Moves::reduces;
    time = memory().copy_out(running.now, at, access.width,
                             adds ? async.reduced_sector : async.copied_sector);
  } else {
    return;
  }
  CopyTime& all = running.copied;
  all = {std::max(all.read, time.read), std::max(all.there, time.there),
         std::max(all.alone, time.alone)};
  running.copied_bytes += access.width;
}

// The bytes of a copy, an arrival behind a thread's cp.async, or one at once. To another block it
// takes as long as a load from there.
void AccessTimes::hear(const sim::MbarrierArrival& arrival) {
  using Kind = TimedOp::Kind;
  const TimedOp& op = *running.op;
  const bool is_other = arrival.block != running.warp->block->block;
  const bool goes_out = is_other || op.kind == Kind::async_store;
  double when = running.now + (goes_out ? figures_.async.remote_latency : figures_.async.arrival);
  if (op.kind == Kind::bulk) {
    when = std::max(running.now, running.copied.there);
    if (is_other && op.moves == TimedOp::Moves::to_shared && running.copied_bytes > 0)
      memory_of(*arrival.block)
          .take_later(running.now, when, running.copied_bytes / kWavefrontBytes);
  } else if (op.awaits_copies) {
    when = std::max(when, running.warp->copies.when);
  }
  phases.add(arrival, when);
  running.has_ended_phase |= arrival.ends_phase;
}

MemoryPath& AccessTimes::memory_of(const sim::Block& block) const {
  return running.warp->block->cluster->blocks[block.member.rank]->sm->memory;
}

}  // namespace gpuexp
