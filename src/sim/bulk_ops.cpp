#include "sim/bulk_ops.hpp"

#include <cstring>

#include <fmt/format.h>

#include "sim/mbarrier.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// ---- mbarriers (SYNCS)

// Each lane's address of shared memory: a register, a uniform one and an offset.
std::uint64_t shared_address(const Warp& warp, const Source& at, unsigned lane) {
  return static_cast<std::uint32_t>(warp.registers[at.index][lane] +
                                    warp.uniform[at.uniform_index] + at.bits);
}

// mbarrier.init: the code has composed the first state. The warp does it once.
void run_init(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 state;
  read_pair(warp, op.from[1], state);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  std::byte* const at = warp.block.shared_at(shared_address(warp, op.from[0], lane), 8, 8);
  std::memcpy(at, &state[lane], sizeof state[lane]);
}

// mbarrier.inval: what is used from here on without a new init is a fault.
void run_invalidate(Warp& warp, const Op& op, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    std::memset(warp.block.shared_at(shared_address(warp, op.from[0], l), 8, 8), 0, 8);
  });
}

enum class Arrives : std::uint8_t {
  once_with_bytes,   ///< mbarrier.arrive.expect_tx; the bytes are in a register
  once,              ///< A1T0
  by_register,       ///< ART0
  bytes_announced,   ///< A0TR: mbarrier.expect_tx
  bytes_came,        ///< A0TX: mbarrier.complete_tx
  copies_announced,  ///< A0T1: what this thread's cp.async stand for, as if it were a byte
  copies_came,
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
    case Arrives::bytes_came: arrival.announced_bytes = -std::int64_t{value}; break;
    case Arrives::copies_announced: arrival.announced_bytes = 1; break;
    case Arrives::copies_came: arrival.announced_bytes = -1; break;
  }
  return arrival;
}

// Lanes arrive one after the other, each with what was there before as its state.
void run_arrive(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const Lanes32 value = read_raw(warp, op.from[1], scratch);
  Lanes64 state{};
  for_each_lane(lanes, [&](unsigned l) {
    state[l] = arrive(warp.block, shared_address(warp, op.from[0], l), arrival_of(op, value[l]));
  });
  write_pair(warp, op.to[0], lanes, state);
}

// mbarrier.test_wait and try_wait: whether the phase has ended whose parity is in the register's
// highest bit, which also is where an arrival's state has it. The hardware suspends a warp that
// tries and finds it has not; here the warp's turn is over.
void run_phase_check(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const Lanes32& phase = read_raw(warp, op.from[1], scratch);
  LaneMask ended = 0;
  for_each_lane(lanes, [&](unsigned l) {
    const Mbarrier b = read_mbarrier(warp.block, shared_address(warp, op.from[0], l));
    ended |= LaneMask{b.parity != (phase[l] >> 31 != 0)} << l;
  });
  write_predicate(warp, op.to[0], lanes, ended);
  if (ended != lanes) warp.wait();
}

void decode_arrive(const Decoding& in, Op& op) {
  // TMASK's lanes arrive together, and their code tells their states apart.
  if (in.operands.size() != 3 || in.has("TMASK")) in.refuse("this form is not executed");
  op.to[0] = source_of(in.operands[0], Reads::integer);
  op.from[0] = source_of(in.operands[1], Reads::integer);
  op.from[1] = source_of(in.operands[2], Reads::integer);
  op.kind = static_cast<std::uint8_t>(in.has("A1T0")   ? Arrives::once
                                      : in.has("ART0") ? Arrives::by_register
                                      : in.has("A0TR") ? Arrives::bytes_announced
                                      : in.has("A0TX") ? Arrives::bytes_came
                                      : in.has("A0T1") ? Arrives::copies_announced
                                                       : Arrives::once_with_bytes);
  op.kind2 = in.has("OPTOUT") ? kLeaves : 0;
  op.run = run_arrive;
}

// SYNCS.EXCH.64 URZ, [UR6], UR4
// SYNCS.ARRIVE.TRANS64.A1T0 R4, [R2+URZ+0x8], RZ
// SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], R0
// SYNCS.CCTL.IV [UR6]
void decode_syncs(const Decoding& in, Op& op) {
  if (in.has("ARRIVE")) return decode_arrive(in, op);
  if (in.has("CCTL") && in.has("IV") && in.operands.size() == 1) {
    op.from[0] = source_of(in.operands[0], Reads::integer);
    op.run = run_invalidate;
    return;
  }
  if (in.operands.size() != 3) in.refuse("this form is not executed");
  op.to[0] = source_of(in.operands[0], Reads::integer);
  op.from[0] = source_of(in.operands[1], Reads::integer);
  op.from[1] = source_of(in.operands[2], Reads::integer);
  if (in.has("EXCH") && in.has("64") && op.to[0].index == kZeroUniformRegister) {
    op.run = run_init;
  } else if (in.has("PHASECHK") && in.has("TRANS64")) {
    op.run = run_phase_check;
  } else {
    in.refuse("this form is not executed");
  }
}

// ARRIVES.LDGSTSBAR.64.ARVCNT (cp.async.mbarrier.arrive.noinc): an arrival once the thread's
// cp.async are complete, which they are when the next instruction begins. TRANSCNT is of the form
// without noinc, and no arrival: a SYNCS before it has announced it.
void run_copy_arrives(Warp& warp, const Op& op, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned l) {
    arrive(warp.block, shared_address(warp, op.from[0], l), arrival_of(op, 0));
  });
}

void decode_copy_arrives(const Decoding& in, Op& op) {
  if (!in.has("LDGSTSBAR") || in.has("ARVCNT") == in.has("TRANSCNT") || in.operands.size() != 1)
    in.refuse("this form is not executed");
  op.from[0] = source_of(in.operands[0], Reads::integer);
  op.kind = static_cast<std::uint8_t>(in.has("ARVCNT") ? Arrives::once : Arrives::copies_came);
  op.run = run_copy_arrives;
}

// ---- bulk copies (UBLKCP)

enum class Direction : std::uint8_t { to_shared, to_global, within_shared };

constexpr std::size_t kUnit = 16;  // addresses and sizes are multiples of it

std::uint64_t uniform_pair(const Warp& warp, unsigned index) {
  return warp.uniform[index] | static_cast<std::uint64_t>(warp.uniform[index + 1]) << 32;
}

std::byte* global_range(Block& block, std::uint64_t address, std::size_t bytes) {
  if (address % kUnit != 0)
    throw Fault(fmt::format("a bulk copy at {:#x} is not aligned to {} bytes", address, kUnit));
  return block.launch.global->at(address, bytes);
}

void note_range(Block& block, Space space, Access kind, std::uint64_t address, std::size_t bytes) {
  Lanes64 range{};
  range[0] = address;
  block.note({space, kind, static_cast<unsigned>(bytes), 1, range});
}

// The copy is complete before the next instruction begins, and its bytes have come to the barrier.
// It may: a program that relies on bytes not being there yet is racing.
void run_bulk_copy(Warp& warp, const Op& op, LaneMask) {
  Block& block = warp.block;
  const unsigned to = op.from[0].uniform_index;
  const unsigned from = op.from[1].uniform_index;
  const std::size_t bytes = (warp.uniform[op.from[2].index] & 0xffff) * kUnit;
  const auto direction = static_cast<Direction>(op.kind);
  const bool reads_global = direction == Direction::to_shared;
  const bool writes_global = direction == Direction::to_global;
  const std::uint64_t source = reads_global ? uniform_pair(warp, from) : warp.uniform[from];
  const std::uint64_t target = writes_global ? uniform_pair(warp, to) : warp.uniform[to];
  const std::byte* const begin =
      reads_global ? global_range(block, source, bytes) : block.shared_at(source, bytes, kUnit);
  std::byte* const end =
      writes_global ? global_range(block, target, bytes) : block.shared_at(target, bytes, kUnit);
  note_range(block, reads_global ? Space::global : Space::shared, Access::bulk_load, source, bytes);
  note_range(block, writes_global ? Space::global : Space::shared, Access::bulk_store, target,
             bytes);
  std::memmove(end, begin, bytes);
  if (!writes_global)
    arrive(block, warp.uniform[to + 1u], {0, -static_cast<std::int64_t>(bytes), false});
}

// UBLKCP.S.G [UR8], [UR6], UR4: to shared memory at UR8, with the barrier at UR9; from global
// memory at UR6 and UR7; UR4 × 16 bytes. A last operand desc[UR10] is what L2 shall keep.
void decode_bulk_copy(const Decoding& in, Op& op) {
  if (in.modifiers.size() != 2 || in.operands.size() < 3 || in.operands.size() > 4)
    in.refuse("this form is not executed");
  const bool to_shared = in.modifiers[0] == "S";
  const bool from_shared = in.modifiers[1] == "S";
  for (unsigned i = 0; i < 3; ++i) {
    if (in.operands[i].kind != (i < 2 ? Kind::memory : Kind::uniform))
      in.refuse("its operands are not understood");
    if (i < 2 && in.operands[i].uniform_index == kZeroUniformRegister)
      in.refuse("its addresses are in no uniform registers");
    op.from[i] = source_of(in.operands[i], Reads::integer);
  }
  if (!to_shared && !from_shared) in.refuse("this form is not executed");
  op.kind = static_cast<std::uint8_t>(!to_shared    ? Direction::to_global
                                      : from_shared ? Direction::within_shared
                                                    : Direction::to_shared);
  op.run = run_bulk_copy;
}

// UTMACMDFLUSH (cp.async.bulk.commit_group) and UBLKPF (a prefetch into L2): copies are complete
// anyway, and there is no L2.
void run_nothing(Warp&, const Op&, LaneMask) {}

void decode_nothing(const Decoding&, Op& op) {
  op.run = run_nothing;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"SYNCS", decode_syncs},    {"ARRIVES", decode_copy_arrives}, {"UBLKCP", decode_bulk_copy},
    {"UBLKPF", decode_nothing}, {"UTMACMDFLUSH", decode_nothing},
};

}  // namespace

std::span<const OpcodeDecoder> bulk_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
