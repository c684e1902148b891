#include "sim/mbarrier_ops.hpp"

#include <cstring>

#include <fmt/format.h>

#include "sim/atomic_update.hpp"
#include "sim/mbarrier.hpp"
#include "sim/mbarrier_words.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"
#include "sim/transfer.hpp"

namespace gpuexp::sim {

namespace {

SharedPlace place_of(const Warp& warp, const Source& at, unsigned lane) {
  return warp.block.shared_place(static_cast<std::uint32_t>(
      warp.registers[at.index][lane] + warp.uniform[at.uniform_index] + at.bits));
}

std::uint64_t own_offset(const Warp& warp, const Source& at, unsigned lane) {
  const SharedPlace place = place_of(warp, at, lane);
  if (&place.block != &warp.block)
    throw Fault(FaultKind::other,
                fmt::format("the mbarrier is in shared memory of block {}, but this instruction "
                            "accesses only its own block's",
                            to_text(place.block.place)),
                place.offset, lane);
  return place.offset;
}

std::byte* mbarrier_at(const Warp& warp, const Source& at, unsigned lane) {
  return warp.block.shared_at(own_offset(warp, at, lane), sizeof(std::uint64_t),
                              sizeof(std::uint64_t));
}

// mbarrier.init: preceding code has computed the initial state, which the warp stores once.
void run_init(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 state;
  read_pair(warp, op.from[1], state);
  const auto lane = first_lane(lanes);
  std::memcpy(mbarrier_at(warp, op.from[0], lane), &state[lane], sizeof state[lane]);
}

// mbarrier.inval: later use of the mbarrier without another init is a fault.
void run_invalidate(Warp& warp, const Op& op, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    std::memset(mbarrier_at(warp, op.from[0], l), 0, sizeof(std::uint64_t));
  });
}

enum class Arrives : std::uint8_t {
  once_with_bytes,   ///< mbarrier.arrive.expect_tx; the number of bytes is in a register
  once,              ///< A1T0
  by_register,       ///< ART0
  bytes_announced,   ///< A0TR: mbarrier.expect_tx
  bytes_completed,   ///< A0TX: mbarrier.complete_tx
  copies_announced,  ///< A0T1: the thread's cp.async copies, announced as one byte
  copies_completed,
};
constexpr std::uint8_t kLeaves = 1;

Arrival arrival_of(const Op& op, std::uint32_t value) {
  Arrival arrival;
  arrival.leaves = op.kind2 == kLeaves;
  switch (static_cast<Arrives>(op.kind)) {
    case Arrives::once_with_bytes:
      arrival.count = 1;
      arrival.announced_bytes = value;
      break;
    case Arrives::once: arrival.count = 1; break;
    case Arrives::by_register: arrival.count = value; break;
    case Arrives::bytes_announced: arrival.announced_bytes = value; break;
    case Arrives::bytes_completed: arrival.announced_bytes = -std::int64_t{value}; break;
    case Arrives::copies_announced: arrival.announced_bytes = 1; break;
    case Arrives::copies_completed: arrival.announced_bytes = -1; break;
  }
  return arrival;
}

// An arrival at another block's mbarrier signals that the warp's block no longer reads the other
// block's memory.
std::uint64_t arrive(const SharedPlace& at, const Arrival& arrival) {
  at.block.end_remote_read();
  return arrive(at.block, at.offset, arrival);
}

// Lanes arrive one after another. Each lane returns the state before its arrival.
void run_arrive(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const Lanes32 value = read_raw(warp, op.from[1], scratch);
  Lanes64 state{};
  for_each_lane(lanes, [&](unsigned l) {
    state[l] = arrive(place_of(warp, op.from[0], l), arrival_of(op, value[l]));
  });
  write_pair(warp, op.to[0], lanes, state);
}

template <class Visit>
void for_each_awaited_phase(Warp& warp, const Op& op, LaneMask lanes, const Visit& visit) {
  Lanes32 scratch;
  const Lanes32& phase = read_raw(warp, op.from[1], scratch);
  for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t offset = own_offset(warp, op.from[0], l);
    visit(l, offset,
          warp.block.launch.is_alone ||
              read_mbarrier(warp.block, offset).parity != (phase[l] >> 31 != 0));
  });
}

// mbarrier.test_wait and try_wait: whether the phase with the given parity (the register's highest
// bit) has ended. If it has not, hardware suspends a warp that executes try_wait; the simulator
// ends the warp's turn.
void run_phase_check(Warp& warp, const Op& op, LaneMask lanes) {
  LaneMask ended = 0;
  for_each_awaited_phase(warp, op, lanes, [&](unsigned lane, std::uint64_t at, bool has_ended) {
    ended |= LaneMask{has_ended} << lane;
    if (has_ended) warp.block.wait_for_phase(lane, at);
  });
  write_predicate(warp, op.to[0], lanes, ended);
  if (ended != lanes) warp.wait();
}

void decode_arrive(const Decoding& in, Op& op) {
  // With TMASK, lanes arrive together, and subsequent code derives each lane's state.
  in.refuse_form_if(in.operands.size() != 3 || in.has("TMASK"));
  place(in, op);
  op.kind = static_cast<std::uint8_t>(in.has("A1T0")   ? Arrives::once
                                      : in.has("ART0") ? Arrives::by_register
                                      : in.has("A0TR") ? Arrives::bytes_announced
                                      : in.has("A0TX") ? Arrives::bytes_completed
                                      : in.has("A0T1") ? Arrives::copies_announced
                                                       : Arrives::once_with_bytes);
  op.kind2 = in.has("OPTOUT") ? kLeaves : 0;
  op.run = run_arrive;
}

// SYNCS.EXCH.64 URZ, [UR6], UR4
// SYNCS.ARRIVE.TRANS64.A1T0 R4, [R2+URZ+0x8], RZ
// SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], R0
// SYNCS.CCTL.IV [UR6]
// SYNCS.CCTL.IVALL writes cached mbarriers of the block back, and has no operands.
void decode_syncs(const Decoding& in, Op& op) {
  if (in.has("CCTL") && in.has("IVALL") && in.operands.empty()) {
    op.run = run_noop;
    return;
  }
  if (in.has("ARRIVE")) return decode_arrive(in, op);
  if (in.has("CCTL") && in.has("IV") && in.operands.size() == 1) {
    op.from[0] = source_of(in.operands[0]);
    op.run = run_invalidate;
    return;
  }
  in.refuse_form_if(in.operands.size() != 3);
  place(in, op);
  if (in.has("EXCH") && in.has("64") && op.to[0].index == kZeroUniformRegister) {
    op.run = run_init;
  } else if (in.has("PHASECHK") && in.has("TRANS64")) {
    op.run = run_phase_check;
  } else {
    in.refuse("this form is not executed");
  }
}

// ARRIVES.LDGSTSBAR.64.ARVCNT (cp.async.mbarrier.arrive.noinc) arrives when the thread's cp.async
// copies are complete, which in the simulator is before the next instruction. TRANSCNT, the form
// without noinc, is no arrival: it completes the byte that an earlier SYNCS (A0T1) announced.
void run_copy_arrives(Warp& warp, const Op& op, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t at = own_offset(warp, op.from[0], l);
    warp.block.arrive_after_copies(l, at);
    arrive(warp.block, at, arrival_of(op, 0));
  });
}

// Compute capability 8.x has one form, ARRIVES.LDGSTSBAR.64. Without noinc, an earlier atomic
// addition has increased the number of pending arrivals.
void run_copy_arrives_at_words(Warp& warp, const Op& op, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t at = own_offset(warp, op.from[0], l);
    warp.block.add_mbarrier(at);
    warp.block.arrive_after_copies(l, at);
    arrive_at_words(warp.block, at);
  });
}

void decode_copy_arrives(const Decoding& in, Op& op) {
  const bool counts = in.has("ARVCNT");
  const bool completes = in.has("TRANSCNT");
  in.refuse_form_if(!in.has("LDGSTSBAR") || (counts && completes) || in.operands.size() != 1);
  op.from[0] = source_of(in.operands[0]);
  op.kind = static_cast<std::uint8_t>(counts ? Arrives::once : Arrives::copies_completed);
  op.run = counts || completes ? run_copy_arrives : run_copy_arrives_at_words;
}

// ATOMS.ARRIVE.64 R2, [URZ+0x800] (mbarrier.arrive on compute capability 8.x) returns the state
// before the arrival.
void run_arrive_at_words(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  for_each_lane(lanes, [&](unsigned l) {
    address[l] = own_offset(warp, op.from[0], l);
    warp.block.add_mbarrier(address[l]);
  });
  warp.block.note({Space::shared, Access::atomic, op.width, lanes, address});
  Lanes64 state{};
  for_each_lane(lanes, [&](unsigned l) { state[l] = arrive_at_words(warp.block, address[l]); });
  write_pair(warp, op.to[0], lanes, state);
}

// ---- asynchronous stores into a cluster's shared memory

// STAS.64 [R16.64], R14 (st.async): R16 is the address, and R17 the address of the mbarrier.
void run_async_store(Warp& warp, const Op& op, LaneMask lanes) {
  const Lanes32& to = warp.registers[op.from[0].index];
  const Lanes32& barrier = warp.registers[next_register(op.from[0]).index];
  for_each_lane(lanes, [&](unsigned l) {
    deliver(warp, {to[l], barrier[l], {}, op.width, op.width}, [&](std::byte* at) {
      for (unsigned w = 0; w < op.width / sizeof(std::uint32_t); ++w)
        std::memcpy(at + w * sizeof(std::uint32_t),
                    &warp.registers[next_register(op.from[1], w).index][l], sizeof(std::uint32_t));
    });
  });
}

// REDAS.ADD [R16.64], R0 (red.async) has the same addresses as STAS.
void run_async_reduction(Warp& warp, const Op& op, LaneMask lanes) {
  const AtomicChange change{static_cast<Atomic>(op.kind), static_cast<AtomicType>(op.kind2)};
  const Lanes32& to = warp.registers[op.from[0].index];
  const Lanes32& barrier = warp.registers[next_register(op.from[0]).index];
  Lanes64 with;
  read_pair(warp, op.from[1], with);
  for_each_lane(lanes, [&](unsigned l) {
    check_readable(warp, to[l], op.width);
    deliver(warp, {to[l], barrier[l], {}, op.width, op.width}, [&](std::byte* at) {
      reduce(at, reinterpret_cast<const std::byte*>(&with[l]), change);
    });
  });
}

void decode_async(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 2 || in.operands[0].kind != Operand::Kind::memory ||
                        !in.operands[0].wide || in.operands[0].value != 0 ||
                        in.operands[0].uniform_index != kZeroUniformRegister);
  place(in, op, Reads::integer, 0);
}

void decode_async_store(const Decoding& in, Op& op) {
  decode_async(in, op);
  op.width = in.has("128") ? 16 : in.has("64") ? 8 : 4;
  in.refuse_form_if(in.modifiers.size() != (op.width > 4 ? 1 : 0));
  op.run = run_async_store;
}

void decode_async_reduction(const Decoding& in, Op& op) {
  decode_async(in, op);
  op.kind = static_cast<std::uint8_t>(atomic_of(in));
  const AtomicType type = atomic_type_of(in);
  in.refuse_form_if(type > AtomicType::s64);
  op.kind2 = static_cast<std::uint8_t>(type);
  op.width = static_cast<std::uint8_t>(size_of(type));
  op.run = run_async_reduction;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"SYNCS", decode_syncs},
    {"ARRIVES", decode_copy_arrives},
    {"STAS", decode_async_store},
    {"REDAS", decode_async_reduction},
};

}  // namespace

AwaitedPhases awaited_phases(Warp& warp, const Op& op, LaneMask lanes) {
  AwaitedPhases awaited;
  for_each_awaited_phase(warp, op, lanes, [&](unsigned, std::uint64_t offset, bool has_ended) {
    awaited.have_ended &= has_ended;
    if (awaited.offsets.empty() || awaited.offsets.back() != offset)
      awaited.offsets.push_back(offset);
  });
  return awaited;
}

void decode_arrive_at_words(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() != 2 || in.modifiers.size() != 2 || !in.has("64"));
  place(in, op);
  op.width = sizeof(std::uint64_t);
  op.run = run_arrive_at_words;
}

std::span<const OpcodeDecoder> mbarrier_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
