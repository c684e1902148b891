#include <algorithm>

#include "sim/cluster.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// cp.async copies immediately, but checks treat the copy as pending until a wait completes it.
void run_commit_copies(Warp& warp, const Op&, LaneMask lanes) {
  warp.block.commit_copies(lanes);
}

void run_wait_for_copies(Warp& warp, const Op& op, LaneMask lanes) {
  warp.block.wait_for_copies(lanes, op.value);
}

// DEPBAR.LE SB0, 0x1 waits for cp.async groups if its scoreboard is 0, the scoreboard of LDGDEPBAR.
// Loads use other scoreboards; the simulator has already completed them.
void decode_depbar(const Decoding& in, Op& op) {
  const bool waits_for_copies = in.operands.size() >= 2 && in.operands[0].text == "SB0" &&
                                in.operands[1].kind == Kind::integer;
  op.value = waits_for_copies ? static_cast<std::uint32_t>(in.operands[1].value) : 0;
  op.run = waits_for_copies ? run_wait_for_copies : run_noop;
}

// An access is complete before the next instruction, so a fence affects only the checks.
void run_fence(Warp& warp, const Op&, LaneMask) {
  warp.block.fence();
}

// ---- branches

// If no other warps execute, a warp leaves a loop that polls a flag, because the flag stays unset.
void run_bra(Warp& warp, const Op& op, LaneMask lanes) {
  if (op.is_flag && warp.block.launch.is_alone) return;
  const LaneMask taken =
      op.from[0].kind == Kind::none ? lanes : lanes & read_predicate(warp, op.from[0]);
  warp.divergence.branch(taken, op.value);
}

// BRA.U.ANY: if one lane branches, all lanes branch.
void run_bra_any(Warp& warp, const Op& op, LaneMask) {
  warp.divergence.branch(warp.divergence.lanes(), op.value);
}

// BRA.DIV UR6, target: if the running group lacks lanes of the mask, it branches to the code that
// collects them. With the guard @!P0, where P0 marks lanes whose own mask differs from the first
// lane's, it also branches if such lanes exist. BRA.CONV ~URZ, target: if no lane is missing, the
// group skips the code that reconverges lanes.
void run_bra_div(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const LaneMask with = read_integer(warp, op.from[0], scratch)[0] & ~warp.divergence.exited();
  const bool are_diverged = (with & ~lanes) != 0;
  const bool branches_if_converged = op.kind != 0;
  if (are_diverged != branches_if_converged)
    warp.divergence.branch(warp.divergence.lanes(), op.value);
}

// BRA [P1,] target; BRA.U UP0, target
void decode_bra(const Decoding& in, Op& op) {
  if (in.has("U") && in.has("ANY") && in.operands.size() == 1) {
    op.value = in.target(in.operands.back());
    op.run = run_bra_any;
    return;
  }
  if ((in.has("DIV") || in.has("CONV")) && in.operands.size() == 2) {
    op.kind = in.has("CONV");
    op.from[0] = source_of(in.operands[0]);
    op.value = in.target(in.operands[1]);
    op.run = run_bra_div;
    return;
  }
  const bool is_uniform = in.has("U") && in.modifiers.size() == 1 && in.operands.size() == 2 &&
                          in.operands[0].kind == Kind::uniform_predicate;
  in.refuse_form_if((in.has("U") && !is_uniform) || in.has("DIV") || in.has("CONV"));
  place_each(in, {&op.from[0], nullptr}, 1);
  op.value = in.target(in.operands.back());
  op.run = run_bra;
}

// EXIT [P1]: lanes exit if their guard and the operand, if there is one, are true.
void run_exit(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask exiting = lanes & read_predicate(warp, op.from[0]);
  if (exiting != 0) warp.divergence.exit(exiting);
}

void decode_exit(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() > 1);
  op.from[0] = source_of(in.operands.empty() ? read_guard("") : in.operands[0]);
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
  warp.divergence.leave_barrier(op.value, lanes & read_predicate(warp, op.from[0]));
}
void run_warpsync(Warp& warp, const Op&, LaneMask) {
  warp.divergence.wait_for(kAllLanes);
}
// WARPSYNC R4: each lane waits for the lanes in its own mask. Lanes with different masks continue
// separately, as WARPSYNC.EXCLUSIVE requires.
void run_warpsync_mask(Warp& warp, const Op& op, LaneMask) {
  Lanes32 scratch;
  warp.divergence.wait_for(read_raw(warp, op.from[0], scratch));
}

// WARPSYNC.COLLECTIVE R4, 0x250: lanes at different instructions converge, and execute the
// instructions up to the next ENDCOLLECTIVE with operands in the same registers. Then each lane
// continues at its own target, such as 0x250.
void run_collect(Warp& warp, const Op& op, LaneMask) {
  Lanes32 scratch;
  Lanes32 all;
  all.of.fill(kAllLanes);
  warp.divergence.collect(op.from[0].kind == Kind::none ? all : read_raw(warp, op.from[0], scratch),
                          op.value);
}

void run_end_collective(Warp& warp, const Op&, LaneMask) {
  warp.divergence.end_collective();
}

// BMOV.32.CLEAR R18, B6 saves a convergence barrier before a call; BMOV.32 B6, R18 restores it.
void run_bmov_out(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 value{};
  for_each_lane(lanes, [&](unsigned l) {
    value[l] = warp.divergence.participants(op.value, l);
    if (op.kind) warp.divergence.set_participants(op.value, l, 0);
  });
  write(warp, op.to[0], lanes, value);
}
void run_bmov_in(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const Lanes32& value = read_raw(warp, op.from[0], scratch);
  for_each_lane(lanes,
                [&](unsigned l) { warp.divergence.set_participants(op.value, l, value[l]); });
}

void decode_bmov(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 2);
  const bool is_out = in.operands[1].kind == Kind::barrier;
  in.refuse_form_if(!is_out && in.operands[0].kind != Kind::barrier);
  op.value = in.operands[is_out].index;
  op.kind = in.has("CLEAR");
  place(in, op);
  op.run = is_out ? run_bmov_out : run_bmov_in;
}

void run_yield(Warp& warp, const Op&, LaneMask) {
  warp.divergence.yield();
}

// BREAK [!P4,] B2
void decode_break(const Decoding& in, Op& op) {
  const Operand& barrier = in.operands.back();
  in.refuse_operands_if(barrier.kind != Operand::Kind::barrier || in.operands.size() > 2);
  op.value = barrier.index;
  op.from[0] = source_of(in.operands.size() == 2 ? in.operands[0] : read_guard(""));
  op.run = run_break;
}

template <Op::Run run>
void decode_convergence(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.empty() || in.operands[0].kind != Kind::barrier);
  op.value = in.operands[0].index;
  op.run = run;
}

void decode_warpsync(const Decoding& in, Op& op) {
  if (in.has("COLLECTIVE")) {
    in.refuse_form_if(in.operands.size() != (in.has("ALL") ? 1u : 2u));
    place_each(in, {&op.from[0], nullptr}, 1);
    op.value = in.target(in.operands.back());
    op.run = run_collect;
    return;
  }
  if (in.has("ALL")) {
    op.run = run_warpsync;
    return;
  }
  in.refuse_form_if(in.operands.size() != 1 || in.modifiers.size() != in.has("EXCLUSIVE"));
  op.from[0] = source_of(in.operands[0]);
  op.run = run_warpsync_mask;
}

// ---- barriers of the block

enum class Bar : std::uint8_t { waits, votes, arrives };
enum class Vote : std::uint8_t { any, all };
/// Op::value of BAR.SYNC R5, R5: bits 0 to 3 of the register are the barrier, bits 16 and above the
/// number of threads. If only one operand is a register, the register contains only that operand.
constexpr std::uint32_t kPacked = 1;

// Lanes of a warp that arrive together at a barrier have equal operands.
std::uint32_t first_value(const Warp& warp, const Source& source, LaneMask lanes) {
  Lanes32 scratch;
  return read_raw(warp, source, scratch)[first_lane(lanes)];
}

void run_bar(Warp& warp, const Op& op, LaneMask lanes) {
  const auto how = static_cast<Bar>(op.kind);
  const std::uint32_t first = first_value(warp, op.from[0], lanes);
  const std::uint32_t barrier = op.value == kPacked ? first & 0xf : first;
  const std::uint32_t count =
      op.from[1].kind == Kind::none ? 0 : first_value(warp, op.from[1], lanes);
  const std::uint32_t threads = op.value == kPacked ? count >> 16 : count;
  const LaneMask yes = how == Bar::votes ? read_predicate(warp, op.from[2]) : 0;
  warp.vote_kind = op.kind2;
  warp.block.arrive_at_barrier(barrier, {threads, lanes, yes, how != Bar::arrives});
}

// BAR.SYNC 0x1, 0x40 waits at barrier 1 for 64 threads. BAR.ARV arrives and continues. BAR.RED.POPC
// 0x0, P0 votes.
void decode_bar(const Decoding& in, Op& op) {
  const bool votes = in.has("RED");
  in.refuse_form_if((!in.has("SYNC") && !votes && !in.has("ARV")) || in.operands.empty());
  std::vector<Operand> operands = in.operands;
  if (votes) {
    op.from[2] = source_of(operands.back());
    operands.pop_back();
  }
  const std::size_t min_operands =
      in.has("ARV") ? 2 : 1;  // BAR.ARV must give the number of threads
  in.refuse_operands_if(operands.size() < min_operands || operands.size() > 2);
  for (std::size_t i = 0; i < operands.size(); ++i)
    op.from[i] = source_of(operands[i]);
  if (operands.size() == 2 && operands[0].kind == Kind::reg && operands[1].kind == Kind::reg)
    op.value = kPacked;
  op.kind = static_cast<std::uint8_t>(votes           ? Bar::votes
                                      : in.has("ARV") ? Bar::arrives
                                                      : Bar::waits);
  op.kind2 = static_cast<std::uint8_t>(in.has("AND") ? Vote::all : Vote::any);
  op.run = run_bar;
}

// UCGABAR_ARV and UCGABAR_WAIT (barrier.cluster). Other instructions order memory accesses for
// .release and .acquire.
void run_cluster_barrier(Warp& warp, const Op& op, LaneMask) {
  if (warp.block.launch.is_alone) return;
  if (!warp.block.member.cluster) throw Fault("the block is not in a cluster");
  if (op.kind) return warp.block.member.cluster->wait(warp);
  warp.block.member.cluster->arrive(warp);
}

template <bool waits>
void decode_cluster_barrier(const Decoding& in, Op& op) {
  in.refuse_form_if(!in.operands.empty() || !in.modifiers.empty());
  op.kind = waits;
  op.run = run_cluster_barrier;
}

// B2R.RESULT R4, P0: number of yes votes; P0 is whether any thread or, after BAR.RED.AND, all
// threads voted yes.
void run_b2r(Warp& warp, const Op& op, LaneMask lanes) {
  const BarrierVotes& votes = warp.votes;
  Lanes32 count;
  count.of.fill(votes.yes);
  write(warp, op.to[0], lanes, count);
  const bool result =
      static_cast<Vote>(warp.vote_kind) == Vote::all ? votes.yes == votes.all : votes.yes > 0;
  write_predicate(warp, op.to[1], lanes, result ? kAllLanes : 0);
}

void decode_b2r(const Decoding& in, Op& op) {
  in.refuse_form_if(!in.has("RESULT") || in.operands.empty() || in.operands.size() > 2);
  place(in, op, Reads::integer, in.operands.size());
  op.run = run_b2r;
}

// ---- others

void run_sleep(Warp& warp, const Op&, LaneMask) {
  warp.wait();
}

// setmaxnreg: a simulated warp always has all registers, so only the number is checked (PTX ISA).
void run_set_registers(Warp& warp, const Op& op, LaneMask lanes) {
  write_predicate(warp, op.to[1], lanes, kAllLanes);
}

void decode_set_registers(const Decoding& in, Op& op) {
  place_each(in, {&op.to[1], nullptr}, 1);
  const std::int64_t count = in.operands.back().value;
  if (count < 24 || count > 256 || count % 8 != 0)
    in.refuse("a warp can have 24 to 256 registers per thread, in steps of 8");
  op.run = run_set_registers;
}

void run_trap(Warp&, const Op&, LaneMask) {
  throw Fault("the kernel traps");
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"BRA", decode_bra},
    {"EXIT", decode_exit},
    {"BSSY", decode_convergence<run_bssy>},
    {"BSYNC", decode_convergence<run_bsync>},
    {"BREAK", decode_break},
    {"WARPSYNC", decode_warpsync},
    {"ENDCOLLECTIVE", decode_plain<run_end_collective>},
    {"YIELD", decode_plain<run_yield>},
    {"BAR", decode_bar},
    {"B2R", decode_b2r},
    {"UCGABAR_ARV", decode_cluster_barrier<false>},
    {"UCGABAR_WAIT", decode_cluster_barrier<true>},
    // FENCE, ERRBAR, CGAERRBAR and CCTL have no effect, because an access is complete before the
    // next instruction.
    {"NOP", decode_plain<run_noop>},
    {"PMTRIG", decode_plain<run_noop>},  // __prof_trigger increments a counter of a profiler
    {"LDGDEPBAR", decode_plain<run_commit_copies>},
    {"DEPBAR", decode_depbar},
    {"MEMBAR", decode_plain<run_fence>},
    {"FENCE", decode_plain<run_noop>},
    {"ERRBAR", decode_plain<run_noop>},
    {"CGAERRBAR", decode_plain<run_noop>},
    {"CCTL", decode_plain<run_noop>},
    {"NANOSLEEP", decode_plain<run_sleep>},
    {"USETMAXREG", decode_set_registers},
    {"BMOV", decode_bmov},
    // griddepcontrol has no effect, because the simulator executes kernels of a stream one after
    // another.
    {"ACQBULK", decode_plain<run_noop>},
    {"PREEXIT", decode_plain<run_noop>},
    {"BPT", decode_plain<run_trap>},
};

}  // namespace

std::span<const OpcodeDecoder> control_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
