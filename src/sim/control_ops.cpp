#include "sim/control_ops.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

constexpr std::uint32_t kInstructionBytes = 16;

// What waits for memory as well: an access is complete before the next instruction begins.
void run_nothing(Warp&, const Op&, LaneMask) {}

void decode_nothing(const Decoding&, Op& op) {
  op.run = run_nothing;
}

// Of cp.async: the copies are executed at once, but checked as if they were not.
void run_commit_copies(Warp& warp, const Op&, LaneMask lanes) {
  warp.block.commit_copies(lanes);
}

void decode_commit_copies(const Decoding&, Op& op) {
  op.run = run_commit_copies;
}

void run_wait_for_copies(Warp& warp, const Op& op, LaneMask lanes) {
  warp.block.wait_for_copies(lanes, op.value);
}

// DEPBAR.LE SB0, 0x1. LDGDEPBAR counts in scoreboard 0; of the others, loads are waited for.
void decode_depbar(const Decoding& in, Op& op) {
  const bool is_of_copies = in.operands.size() >= 2 && in.operands[0].text == "SB0" &&
                            in.operands[1].kind == Kind::integer;
  op.value = is_of_copies ? static_cast<std::uint32_t>(in.operands[1].value) : 0;
  op.run = is_of_copies ? run_wait_for_copies : run_nothing;
}

// ---- branches

void run_bra(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask taken =
      op.from[0].kind == Kind::none ? lanes : lanes & read_predicate(warp, op.from[0]);
  warp.divergence.branch(taken, op.value);
}

// BRA.U.ANY: all go where one of them goes.
void run_bra_any(Warp& warp, const Op& op, LaneMask) {
  warp.divergence.branch(warp.divergence.lanes(), op.value);
}

// BRA [P1,] target
void decode_bra(const Decoding& in, Op& op) {
  if (in.has("U") && in.has("ANY") && in.operands.size() == 1) {
    op.value = in.target(in.operands.back());
    op.run = run_bra_any;
    return;
  }
  if (in.has("U") || in.has("DIV") || in.has("CONV")) in.refuse("this form is not executed");
  if (in.operands.empty() || in.operands.size() > 2) in.refuse("its operands are not understood");
  if (in.operands.size() == 2) op.from[0] = source_of(in.operands[0], Reads::integer);
  op.value = in.target(in.operands.back());
  op.run = run_bra;
}

void run_indirect(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, targets;
  const Lanes32& base = read_raw(warp, op.from[0], scratch);
  for (unsigned l = 0; l < kLanes; ++l)
    targets[l] = (base[l] + op.value) / kInstructionBytes;
  warp.divergence.branch_each(lanes, targets);
}

// BRX R6 -0x410 goes to R6 - 0x410 bytes behind its own end.
void decode_brx(const Decoding& in, Op& op) {
  if (in.operands.size() != 2) in.refuse("its operands are not understood");
  op.from[0] = source_of(in.operands[0], Reads::integer);
  op.value =
      in.listed.address + kInstructionBytes + static_cast<std::uint32_t>(in.operands[1].value);
  op.run = run_indirect;
}

// RET R6 0x0 goes to R6 bytes behind the kernel's begin, where CALL's own code has put it.
void decode_ret(const Decoding& in, Op& op) {
  if (in.operands.size() != 2 || in.operands[1].value != 0)
    in.refuse("its operands are not understood");
  op.from[0] = source_of(in.operands[0], Reads::integer);
  op.value = 0;
  op.run = run_indirect;
}

void decode_call(const Decoding& in, Op& op) {
  if (!in.has("REL") || !in.has("NOINC")) in.refuse("this form is not executed");
  op.value = in.target(in.operands.at(0));
  op.run = run_bra;
}

void run_exit(Warp& warp, const Op&, LaneMask lanes) {
  warp.divergence.exit(lanes);
}

void decode_exit(const Decoding&, Op& op) {
  op.run = run_exit;
}

// ---- convergence

void run_bssy(Warp& warp, const Op& op, LaneMask) {
  warp.divergence.set_barrier(op.value);
}
void run_bsync(Warp& warp, const Op& op, LaneMask lanes) {
  warp.divergence.wait_at(op.value, lanes);
}
void run_break(Warp& warp, const Op& op, LaneMask lanes) {
  warp.divergence.leave_barrier(op.value, lanes);
}
void run_warpsync(Warp& warp, const Op&, LaneMask) {
  warp.divergence.wait_for(kAllLanes);
}
void run_yield(Warp& warp, const Op&, LaneMask) {
  warp.divergence.yield();
}

template <Op::Run run>
void decode_convergence(const Decoding& in, Op& op) {
  if (in.operands.empty() || in.operands[0].kind != Kind::barrier)
    in.refuse("its operands are not understood");
  op.value = in.operands[0].index;
  op.run = run;
}

void decode_warpsync(const Decoding& in, Op& op) {
  if (!in.has("ALL")) in.refuse("this form is not executed");
  op.run = run_warpsync;
}

void decode_yield(const Decoding&, Op& op) {
  op.run = run_yield;
}

// ---- the block's barrier

void run_bar(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask others = warp.divergence.lanes() & ~lanes;
  if (others != 0)
    throw Fault(
        FaultKind::barrier,
        fmt::format("{} threads of a warp wait at a barrier that {} others of the warp pass "
                    "by; {} have exited",
                    std::popcount(lanes), std::popcount(others),
                    std::popcount(warp.divergence.exited())));
  if (op.from[0].kind != Kind::none && (read_predicate(warp, op.from[0]) & lanes) != 0)
    warp.block.vote = true;
  warp.divergence.wait_for_block();
}

void decode_bar(const Decoding& in, Op& op) {
  const bool votes = in.has("RED") && in.has("OR");
  if ((!in.has("SYNC") && !votes) || in.operands.empty() || in.operands[0].value != 0 ||
      in.operands.size() > (votes ? 2u : 1u))
    in.refuse("this form is not executed");
  if (votes) op.from[0] = source_of(in.operands[1], Reads::integer);
  op.run = run_bar;
}

void run_b2r(Warp& warp, const Op& op, LaneMask lanes) {
  write_predicate(warp, op.to[1], lanes, warp.block.vote_result ? kAllLanes : 0);
}

void decode_b2r(const Decoding& in, Op& op) {
  if (!in.has("RESULT") || in.operands.size() != 2) in.refuse("this form is not executed");
  op.to[1] = source_of(in.operands[1], Reads::integer);
  op.run = run_b2r;
}

// ---- lanes among themselves

enum class Shuffle : std::uint8_t { index, up, down, butterfly };

void run_shfl(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_raw(warp, op.from[0], sa);
  const Lanes32& b = read_raw(warp, op.from[1], sb);
  const Lanes32& c = read_raw(warp, op.from[2], sc);
  LaneMask in_range = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned segment = c[l] >> 8 & 31;
    const unsigned last = (l & segment) | (c[l] & 31 & ~segment);
    const unsigned first = l & segment;
    const unsigned by = b[l] & 31;
    unsigned from = l;
    bool valid = false;
    switch (static_cast<Shuffle>(op.kind)) {
      case Shuffle::index:
        from = first | (by & ~segment);
        valid = from <= last;
        break;
      case Shuffle::up:
        valid = static_cast<int>(l) - static_cast<int>(by) >= static_cast<int>(last);
        from = l - by;
        break;
      case Shuffle::down:
        from = l + by;
        valid = from <= last;
        break;
      case Shuffle::butterfly:
        from = l ^ by;
        valid = from <= last;
        break;
    }
    if (!valid) from = l;
    in_range |= LaneMask{valid} << l;
    result[l] = a[from & 31];
  }
  write_predicate(warp, op.to[1], lanes, in_range);
  write(warp, op.to[0], lanes, result);
}

// SHFL.DOWN P0, R1, R2, 0x10, 0x1f
void decode_shfl(const Decoding& in, Op& op) {
  if (in.operands.size() != 5) in.refuse("its operands are not understood");
  op.to[1] = source_of(in.operands[0], Reads::integer);
  op.to[0] = source_of(in.operands[1], Reads::integer);
  for (unsigned i = 0; i < 3; ++i)
    op.from[i] = source_of(in.operands[i + 2], Reads::integer);
  op.kind = static_cast<std::uint8_t>(in.has("IDX")    ? Shuffle::index
                                      : in.has("UP")   ? Shuffle::up
                                      : in.has("DOWN") ? Shuffle::down
                                                       : Shuffle::butterfly);
  op.run = run_shfl;
}

void run_vote(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask yes = read_predicate(warp, op.from[0]) & lanes;
  const bool result = op.kind == 0   ? yes != 0
                      : op.kind == 1 ? yes == lanes
                                     : yes == 0 || yes == lanes;
  Lanes32 ballot;
  ballot.of.fill(yes);
  write(warp, op.to[0], lanes, ballot);
  write_predicate(warp, op.to[1], lanes, result ? kAllLanes : 0);
}

// VOTE.ANY R0, P0, P1: the ballot, and what it comes to.
void decode_vote(const Decoding& in, Op& op) {
  if (in.operands.size() != 3) in.refuse("its operands are not understood");
  for (unsigned i = 0; i < 2; ++i)
    op.to[i] = source_of(in.operands[i], Reads::integer);
  op.from[0] = source_of(in.operands[2], Reads::integer);
  op.kind = in.has("ANY") ? 0 : in.has("ALL") ? 1 : 2;
  op.run = run_vote;
}

void run_redux_or(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_raw(warp, op.from[0], scratch);
  std::uint32_t all = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (lanes >> l & 1) all |= a[l];
  }
  result.of.fill(all);
  write(warp, op.to[0], lanes, result);
}

void decode_redux(const Decoding& in, Op& op) {
  if (in.modifiers.size() != 1 || !in.has("OR") || in.operands.size() != 2)
    in.refuse("this form is not executed");
  op.to[0] = source_of(in.operands[0], Reads::integer);
  op.from[0] = source_of(in.operands[1], Reads::integer);
  op.run = run_redux_or;
}

// ELECT P0, URZ, PT: one of the lanes, and which it is.
void run_elect(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 chosen;
  chosen.of.fill(static_cast<std::uint32_t>(std::countr_zero(lanes)));
  write(warp, op.to[0], lanes, chosen);
  write_predicate(warp, op.to[1], lanes, lanes & (~lanes + 1));
}

void decode_elect(const Decoding& in, Op& op) {
  if (in.operands.size() != 3 || in.operands[2].index != kTruePredicate || in.operands[2].inverted)
    in.refuse("this form is not executed");
  op.to[1] = source_of(in.operands[0], Reads::integer);
  op.to[0] = source_of(in.operands[1], Reads::integer);
  op.run = run_elect;
}

// What an instruction of the warp reads has to be the same in all its lanes. Where the compiler
// does not know that, a loop takes one lane's values at a time, and the predicate says which lanes
// have others; with OR, which have others of this or of the registers before.
void run_r2ur(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_raw(warp, op.from[0], scratch);
  const std::uint32_t value = a[static_cast<unsigned>(std::countr_zero(lanes))];
  result.of.fill(value);
  write(warp, op.to[0], lanes, result);
  if (op.to[1].kind == Kind::none) return;
  LaneMask others = op.kind ? read_predicate(warp, op.to[1]) : 0;
  for (unsigned l = 0; l < kLanes; ++l)
    others |= LaneMask{a[l] != value} << l;
  write_predicate(warp, op.to[1], lanes, others);
}

// R2UR UR4, R5 and R2UR.OR P0, UR4, R5
void decode_r2ur(const Decoding& in, Op& op) {
  const bool has_predicate = in.operands.size() == 3;
  if ((in.operands.size() != 2 && !has_predicate) || in.modifiers.size() > in.has("OR"))
    in.refuse("this form is not executed");
  if (has_predicate) op.to[1] = source_of(in.operands[0], Reads::integer);
  op.to[0] = source_of(in.operands[has_predicate], Reads::integer);
  op.from[0] = source_of(in.operands[has_predicate + 1u], Reads::integer);
  op.kind = in.has("OR");
  op.run = run_r2ur;
}

// ---- special registers

enum class Special : std::uint8_t {
  zero,
  tid_x,
  tid_y,
  tid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  lane,
  cluster_block,
  shared_window
};
constexpr std::array<std::pair<std::string_view, Special>, 10> kSpecials{
    {{"SRZ", Special::zero},
     {"SR_TID.X", Special::tid_x},
     {"SR_TID.Y", Special::tid_y},
     {"SR_TID.Z", Special::tid_z},
     {"SR_CTAID.X", Special::ctaid_x},
     {"SR_CTAID.Y", Special::ctaid_y},
     {"SR_CTAID.Z", Special::ctaid_z},
     {"SR_LANEID", Special::lane},
     {"SR_CgaCtaId", Special::cluster_block},
     {"SR_SWINHI", Special::shared_window}}};

std::uint32_t special_value(const Warp& warp, Special which, unsigned lane) {
  const Block& block = warp.block;
  const std::int64_t thread = std::int64_t{warp.index} * kLanes + lane;
  const Extent& size = block.launch.block;
  switch (which) {
    case Special::zero: return 0;
    case Special::tid_x: return static_cast<std::uint32_t>(thread % size.x);
    case Special::tid_y: return static_cast<std::uint32_t>(thread / size.x % size.y);
    case Special::tid_z: return static_cast<std::uint32_t>(thread / (size.x * size.y));
    case Special::ctaid_x: return static_cast<std::uint32_t>(block.place.x);
    case Special::ctaid_y: return static_cast<std::uint32_t>(block.place.y);
    case Special::ctaid_z: return static_cast<std::uint32_t>(block.place.z);
    case Special::lane: return lane;
    case Special::cluster_block: return 0;
    case Special::shared_window: return static_cast<std::uint32_t>(kSharedWindow >> 32);
  }
  return 0;
}

void run_special(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 value;
  for (unsigned l = 0; l < kLanes; ++l)
    value[l] = special_value(warp, static_cast<Special>(op.kind), l);
  write(warp, op.to[0], lanes, value);
  if (op.width == 8) {
    value.of.fill(0);
    write(warp, next_register(op.to[0]), lanes, value);
  }
}

void decode_special(const Decoding& in, Op& op) {
  if (in.operands.size() != 2) in.refuse("its operands are not understood");
  const std::string_view name = in.operands[1].text;
  const auto found = std::find_if(kSpecials.begin(), kSpecials.end(),
                                  [&](const auto& known) { return known.first == name; });
  if (found == kSpecials.end()) in.refuse("this register is not known");
  op.to[0] = source_of(in.operands[0], Reads::integer);
  op.kind = static_cast<std::uint8_t>(found->second);
  op.width = in.listed.opcode.starts_with("CS2R") && !in.has("32") ? 8 : 4;
  op.run = run_special;
}

void run_trap(Warp&, const Op&, LaneMask) {
  throw Fault("the kernel traps");
}

void decode_trap(const Decoding&, Op& op) {
  op.run = run_trap;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"BRA", decode_bra},
    {"BRX", decode_brx},
    {"RET", decode_ret},
    {"CALL", decode_call},
    {"EXIT", decode_exit},
    {"BSSY", decode_convergence<run_bssy>},
    {"BSYNC", decode_convergence<run_bsync>},
    {"BREAK", decode_convergence<run_break>},
    {"WARPSYNC", decode_warpsync},
    {"YIELD", decode_yield},
    {"BAR", decode_bar},
    {"B2R", decode_b2r},
    {"SHFL", decode_shfl},
    {"VOTE", decode_vote},
    {"VOTEU", decode_vote},
    {"REDUX", decode_redux},
    {"ELECT", decode_elect},
    {"R2UR", decode_r2ur},
    {"S2R", decode_special},
    {"S2UR", decode_special},
    {"CS2R", decode_special},
    {"NOP", decode_nothing},
    {"LDGDEPBAR", decode_commit_copies},
    {"DEPBAR", decode_depbar},
    {"MEMBAR", decode_nothing},
    {"FENCE", decode_nothing},
    {"ERRBAR", decode_nothing},
    {"CCTL", decode_nothing},
    {"BPT", decode_trap},
};

}  // namespace

std::span<const OpcodeDecoder> control_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
