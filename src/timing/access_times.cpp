#include "timing/access_times.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

namespace gpuexp {

namespace {

// Number of lanes with addresses in the bank that most lanes access.
unsigned lanes_of_fullest_bank(const sim::MemoryAccess& access) {
  constexpr std::uint64_t kBankBytes = 4;
  constexpr std::size_t kBanks = 32;
  std::array<unsigned, kBanks> lanes{};
  for (sim::LaneMask left = access.lanes; left != 0; left &= left - 1)
    ++lanes[access.address[sim::first_lane(left)] / kBankBytes % lanes.size()];
  return *std::max_element(lanes.begin(), lanes.end());
}

SharedUse use_of(sim::Access kind) {
  if (kind == sim::Access::load) return SharedUse::load;
  return kind == sim::Access::store ? SharedUse::store : SharedUse::other;
}

// Share of the banks that an access uses, averaged over its wavefronts: 1/4 if each wavefront
// accesses one sector. Assumes that lanes of one sector are adjacent.
double share_of_banks(const sim::MemoryAccess& access, double wavefronts) {
  constexpr std::uint64_t kSector = 32;
  if (access.lanes == sim::kAllLanes && access.width >= 4 &&
      access.shape.pattern == sim::AccessShape::Pattern::contiguous)
    return 1;
  std::uint64_t last = ~std::uint64_t{0};
  double sectors = 0;
  for (sim::LaneMask lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const std::uint64_t sector = access.address[sim::first_lane(lanes)] / kSector;
    sectors += sector != last;
    last = sector;
  }
  return std::min(1.0, sectors * static_cast<double>(kSector) / kWavefrontBytes / wavefronts);
}

}  // namespace

void AccessTimes::begin(ResidentWarp& warp, const TimedOp& op, double now) {
  // Constructed in place, because copying a temporary would wait for its pending stores.
  ::new (&running) RunningInstruction{.warp = &warp, .op = &op, .now = now};
}

Served AccessTimes::end(bool has_lanes) {
  const double now = running.now;
  if (!has_lanes) return {now, now, now};
  if (running.has_requested) return running.served;
  // Exchanges between lanes use the data stage's crossbar for one wavefront.
  if (running.op->kind == TimedOp::Kind::shared) return memory().shared(now, 1);
  return end_asynchronous();
}

Served AccessTimes::end_asynchronous() {
  using Kind = TimedOp::Kind;
  const TimedOp& op = *running.op;
  const AsyncParameters& async = parameters_.async;
  const double now = running.now;
  ResidentWarp& warp = *running.warp;
  ResidentBlock& block = *warp.block;
  const auto hold = [&](double until, WarpState state) {
    running.holds_until = until;
    running.holds_in = state;
  };
  switch (op.kind) {
    case Kind::phase_check:
      return {now + 1, std::max(now, warp.phase_ended.when) + async.phase_check,
              std::max(now, warp.phase_ended.alone) + async.phase_check};
    case Kind::bulk: {
      const double done = now + op.latency;
      if (op.moves == TimedOp::Moves::to_global || op.moves == TimedOp::Moves::reduces)
        warp.moves = {std::max(warp.moves.when, running.copied.read),
                      std::max(warp.moves.alone, running.copied.alone)};
      return {done, done, done};
    }
    case Kind::product:
      warp.warpgroup->start(warp.products++, now, op, block.sm->matrix, memory());
      warp.product_groups += op.commits;
      break;
    case Kind::drop_l1: memory().drop_l1(); break;
    case Kind::fence: hold(now + async.fence, WarpState::membar); break;
    case Kind::cluster_wait: hold(block.cluster->barrier_at, WarpState::barrier); break;
    default: break;
  }
  return {now + 1, now + op.latency, now + op.latency};
}

// cp.async reads global memory, then writes shared memory. The warp does not wait for reads by
// warpgroup products or for writes by asynchronous stores.
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
  all = running.has_requested ? Served{std::max(all.taken, one.taken), std::max(all.done, one.done),
                                       std::max(all.alone, one.alone)}
                              : one;
  running.has_requested = true;
}

Served AccessTimes::served(const sim::MemoryAccess& access) {
  const double now = running.now;
  const bool passes_l1 = running.op->passes_l1;
  if (access.space == sim::Space::cluster) return access_cluster(access);
  if (access.space == sim::Space::shared) {
    const double wavefronts = running.op->serializes_lanes ? std::max(shared_wavefronts(access),
                                                                      lanes_of_fullest_bank(access))
                                                           : shared_wavefronts(access);
    return memory().shared(now, wavefronts, use_of(access.kind),
                           share_of_banks(access, wavefronts));
  }
  if (access.space == sim::Space::local) return access_local(access);
  if (access.kind == sim::Access::store) return memory().store(now, touch_of(access));
  if (access.kind == sim::Access::async_load)
    return memory().copy(now, touch_of(access), passes_l1);
  if (sim::is_atomic(access.kind)) return memory().atomic(now, access);
  return memory().load(now, touch_of(access), passes_l1);
}

// The local memory of all warps that may be resident is interleaved by line. A warp uses the same
// lines as the previous warp in its slot.
Served AccessTimes::access_local(const sim::MemoryAccess& access) {
  constexpr std::uint64_t kSector = 32;
  constexpr std::uint64_t kLine = 128;
  constexpr std::uint64_t kWarpsOfSm = 64;
  const std::uint64_t place = running.warp->place % kWarpsOfSm;
  Served all;
  for (unsigned word = 0; word < sim::local_words(access); ++word) {
    sim::Lanes64 at = sim::interleaved_addresses(access, word);
    for (std::uint64_t& address : at.of)
      address = kLocalSectors * kSector + (address / kLine * kWarpsOfSm + place) * kLine +
                address % kLine;
    const sim::MemoryAccess one{sim::Space::global, access.kind, std::min(access.width, 4u),
                                access.lanes, at};
    const Served served = access.kind == sim::Access::store
                              ? memory().store(running.now, touch_of(one))
                              : memory().load(running.now, touch_of(one), running.op->passes_l1);
    all = {std::max(all.taken, served.taken), std::max(all.done, served.done),
           std::max(all.alone, served.alone)};
  }
  return all;
}

// An access to shared memory of another block; all lanes are assumed to access the same block.
Served AccessTimes::access_cluster(const sim::MemoryAccess& access) {
  const auto lane = sim::first_lane(access.lanes);
  const sim::SharedPlace at =
      running.warp->block->block->shared_place(static_cast<std::uint32_t>(access.address[lane]));
  const AsyncParameters& async = parameters_.async;
  return memory().reach(
      running.now, shared_wavefronts(access) * kWavefrontBytes,
      access.kind == sim::Access::store ? async.remote_store_line : async.remote_load_line,
      memory_of(at.block));
}

// Called for each row of a bulk copy. The access to global memory determines the time, except for
// copies between the shared memories of two blocks.
void AccessTimes::hear_bulk(const sim::MemoryAccess& access) {
  using Moves = TimedOp::Moves;
  const TimedOp& op = *running.op;
  const AsyncParameters& async = parameters_.async;
  const std::uint64_t at = access.address[sim::first_lane(access.lanes)];
  const bool is_load = access.kind == sim::Access::bulk_load;
  const bool is_global = access.space == sim::Space::global;
  CopyTime time;
  if (op.moves == Moves::within_cluster && is_load && !is_global) {
    const Served served =
        memory().reach(running.now, access.width, async.remote_store_line, memory());
    time = {served.taken, served.done, served.alone};
  } else if (op.moves == Moves::to_shared && is_load && is_global) {
    time = memory().copy_in(running.now + (op.is_tensor ? async.tensor_copy_delay : 0), at,
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

// Times the arrival of a copy's bytes, an arrival after the warp's cp.async copies, or an immediate
// arrival. Immediate arrivals in another block and by st.async take as long as a load from that
// block.
void AccessTimes::hear(const sim::MbarrierArrival& arrival) {
  using Kind = TimedOp::Kind;
  const TimedOp& op = *running.op;
  const bool is_other = arrival.block != running.warp->block->block;
  const bool leaves_block = is_other || op.kind == Kind::async_store;
  double when =
      running.now + (leaves_block ? parameters_.async.remote_latency : parameters_.async.arrival);
  double alone = when;
  if (op.kind == Kind::bulk) {
    when = std::max(running.now, running.copied.there);
    alone = std::max(running.now, running.copied.alone);
    if (is_other && op.moves == TimedOp::Moves::to_shared && running.copied_bytes > 0)
      memory_of(*arrival.block)
          .reserve_data_stage(running.now, when, running.copied_bytes / kWavefrontBytes);
  } else if (op.awaits_copies) {
    when = std::max(when, running.warp->copies.when);
    alone = std::max(alone, running.warp->copies.alone);
  }
  phases.add(arrival, {when, alone});
  running.has_ended_phase |= arrival.ends_phase;
}

MemoryPath& AccessTimes::memory_of(const sim::Block& block) const {
  return running.warp->block->cluster->blocks[block.member.rank]->sm->memory;
}

}  // namespace gpuexp
