// Calls of functions, returns, and branches to addresses in registers.
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"
#include "sim/runtime_functions.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

constexpr std::uint32_t kInstructionBytes = 16;

void run_indirect(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, targets;
  const Lanes32& base = read_raw(warp, op.from[0], scratch);
  for (unsigned l = 0; l < kLanes; ++l)
    targets[l] = (base[l] + op.value) / kInstructionBytes;
  warp.divergence.branch_each(lanes, targets);
}

// BRX R6 -0x410 and BRXU branch to the address R6 - 0x410, relative to the end of the instruction.
void decode_brx(const Decoding& in, Op& op) {
  place_each(in, {&op.from[0], nullptr});
  op.value =
      in.listed.address + kInstructionBytes + static_cast<std::uint32_t>(in.operands[1].value);
  op.run = run_indirect;
}

// RET R6 0x0 branches to R6, relative to the start of the kernel; the caller has set R6.
void decode_ret(const Decoding& in, Op& op) {
  place_each(in, {&op.from[0], nullptr});
  in.refuse_operands_if(in.operands[1].value != 0);
  op.run = run_indirect;
}

// CALL.REL.NOINC R8 0x0 calls the function at R8, relative to the start of the kernel. Code loads
// R8 from constant bank 2, at the offset that is the function pointer's value. At offset 0, the
// null pointer, the bank contains 1.
void run_indirect_call(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  const Lanes32& target = read_raw(warp, op.from[0], scratch);
  const std::size_t end = warp.block.launch.program->ops.size() * kInstructionBytes;
  for_each_lane(lanes, [&](unsigned lane) {
    if (target[lane] % kInstructionBytes != 0 || target[lane] >= end)
      throw Fault(FaultKind::other, "the called pointer does not point to a function", target[lane],
                  lane);
  });
  run_indirect(warp, op, lanes);
}

void run_call(Warp& warp, const Op& op, LaneMask lanes) {
  warp.divergence.branch(lanes, op.value);
}

// LEPC R20, 0x170 returns the address 0x170. Without an address, as on compute capability 8.x, it
// returns its own. Code starts at address 0.
void run_lepc(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  address.of.fill(op.value);
  write_pair(warp, op.to[0], lanes, address);
}

void decode_lepc(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.empty() || in.operands.size() > 2);
  op.to[0] = source_of(in.operands[0]);
  op.value =
      in.operands.size() == 2 ? in.target(in.operands[1]) * kInstructionBytes : in.listed.address;
  op.run = run_lepc;
}

// CALL.ABS.NOINC R2 calls the function at the address in R2 and R3, which the loader has stored in
// constant bank 4. R20 and R21 hold the address of the instruction to return to.
void run_absolute_call(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr std::uint8_t kReturnAddress = 20;
  Lanes64 function;
  read_pair(warp, op.from[0], function);
  for_each_lane(lanes, [&](unsigned l) { call_runtime(warp, l, function[l]); });
  const Lanes32& back = warp.registers[kReturnAddress];
  const std::uint32_t next = warp.divergence.next() * kInstructionBytes;
  const LaneMask elsewhere = lanes & lanes_where([&](unsigned l) { return back[l] != next; });
  if (elsewhere == 0) return;
  Lanes32 targets;
  for (unsigned l = 0; l < kLanes; ++l)
    targets[l] = back[l] / kInstructionBytes;
  warp.divergence.branch_each(lanes, targets);
}

void decode_call(const Decoding& in, Op& op) {
  in.refuse_form_if(!in.has("NOINC") || in.has("REL") == in.has("ABS"));
  if (in.has("ABS")) {
    in.refuse_operands_if(in.operands.size() != 1 || in.operands[0].kind != Kind::reg);
    op.from[0] = source_of(in.operands[0]);
    op.run = run_absolute_call;
    return;
  }
  if (in.operands.size() == 2 && in.operands[0].kind == Kind::reg && in.operands[1].value == 0) {
    op.from[0] = source_of(in.operands[0]);
    op.run = run_indirect_call;
    return;
  }
  in.refuse_form_if(in.operands.size() != 1);
  op.value = in.target(in.operands[0]);
  op.run = run_call;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"BRX", decode_brx},   {"BRXU", decode_brx},  {"RET", decode_ret},
    {"CALL", decode_call}, {"LEPC", decode_lepc},
};

}  // namespace

std::span<const OpcodeDecoder> call_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
