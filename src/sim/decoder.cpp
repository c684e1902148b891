#include "sim/decoder.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/text_parts.hpp"
#include "sim/fault.hpp"
#include "sim/opcodes.hpp"
#include "sim/poll_loops.hpp"

namespace gpuexp::sim {

namespace {

std::vector<std::string_view> modifiers_of(std::string_view opcode, std::string_view& mnemonic) {
  mnemonic = take_until(opcode, ".");
  std::vector<std::string_view> modifiers;
  while (!opcode.empty())
    modifiers.push_back(take_until(opcode, "."));
  return modifiers;
}

const OpcodeDecoder* find_among(std::span<const OpcodeDecoder> opcodes, std::string_view mnemonic) {
  const auto found = std::find_if(opcodes.begin(), opcodes.end(),
                                  [&](const OpcodeDecoder& d) { return d.mnemonic == mnemonic; });
  return found == opcodes.end() ? nullptr : &*found;
}

const OpcodeDecoder* find_decoder(std::string_view mnemonic,
                                  std::span<const std::string_view> modifiers) {
  if (has_wide_modifier(modifiers)) {
    if (const OpcodeDecoder* const found = find_among(wide_opcodes(), mnemonic)) return found;
  }
  for (const auto& opcodes :
       {integer_opcodes(), logic_opcodes(), float_opcodes(), memory_opcodes(), control_opcodes(),
        call_opcodes(), matrix_opcodes(), integer_matrix_opcodes(), mbarrier_opcodes(),
        bulk_opcodes(), tensor_opcodes(), special_opcodes(), warpgroup_opcodes(), lane_opcodes(),
        atomic_opcodes(), bit_opcodes(), half_opcodes(), select_opcodes(), conversion_opcodes()}) {
    if (const OpcodeDecoder* const found = find_among(opcodes, mnemonic)) return found;
  }
  return nullptr;
}

// Why an instruction without decoder is not executed, and what a kernel can use instead.
std::string_view refusal_of(std::string_view mnemonic) {
  if (is_any_of(mnemonic, {"TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML", "SULD", "SUST", "SURED"}))
    return "fetches of textures and surfaces are not simulated; load through a pointer instead";
  if (is_any_of(mnemonic, {"LDTM", "STTM"}) || mnemonic.starts_with("UTC"))
    return "the tensor memory of tcgen05 is not simulated; use mma.sync or wmma instead";
  return "the simulator does not execute this instruction";
}

bool reaches_shared(std::string_view mnemonic) {
  return is_any_of(mnemonic, {"LDS", "STS", "LDSM", "STSM", "LDGSTS", "ATOMS", "ATOM", "LD", "ST"});
}

bool is_global_atomic(std::string_view mnemonic) {
  return is_any_of(mnemonic, {"ATOM", "ATOMG", "RED", "REDG", "UBLKRED", "UTMAREDG"});
}

// Floating-point sums in shared memory are loops of LDS R8, [R6], an addition, and ATOMS.CAST.SPIN
// R9, [R6], R8, R9. The loop repeats if memory no longer contains R8. The load counts as atomic.
void mark_loads_of_atomics(Program& program) {
  constexpr std::size_t kMaxBetween = 16;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!program.listed[i].opcode.starts_with("ATOMS.CAST.SPIN")) continue;
    for (std::size_t j = i; j-- > i - std::min(i, kMaxBetween);) {
      Op& load = program.ops[j];
      if (!program.listed[j].opcode.starts_with("LDS") ||
          load.to[0].index != program.ops[i].from[1].index)
        continue;
      load.kind2 = kAtomicLoad;
      break;
    }
  }
}

bool has_any(const Program& program, std::initializer_list<std::string_view> mnemonics) {
  return std::any_of(program.listed.begin(), program.listed.end(), [&](const auto& listed) {
    return is_any_of(mnemonic_of(listed.opcode), mnemonics);
  });
}

// Marks accesses that poll flags. Only after fences do flags order other accesses, and only the
// copies of cp.async are ordered for warps that wait for an mbarrier.
void mark_flags(Program& program) {
  const std::vector<bool> polls = polling_ops(program);
  bool has_flags = false;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (polls[i]) set_polling(program.ops[i]);
    has_flags |= program.ops[i].is_flag;
  }
  const bool has_fences = has_any(program, {"MEMBAR"});
  program.orders_warps |=
      (has_fences && (has_flags || has_any(program, {"ATOMS"}))) || has_any(program, {"ARRIVES"});
}

}  // namespace

OpClass class_of(const ListedInstruction& listed) {
  const IssuePipe pipe = issue_pipe(listed.opcode, listed.operands);
  return {pipe, is_branch(listed.opcode),
          pipe == IssuePipe::lsu && is_load_store_without_access(listed.opcode),
          listed.opcode == "LDGDEPBAR"};
}

Program decode(const KernelCode& code) {
  Program program;
  program.name = code.lowered_name;
  program.listed = code.instructions;
  program.constants = code.constants;
  program.ops.reserve(code.instructions.size());
  for (const ListedInstruction& listed : code.instructions) {
    std::string_view mnemonic;
    Decoding in{listed, modifiers_of(listed.opcode, mnemonic), {}};
    const OpcodeDecoder* decoder = find_decoder(mnemonic, in.modifiers);
    if (!decoder) in.refuse(refusal_of(mnemonic));
    in.operands = read_operands(listed.operands);
    Op op;
    op.guard = source_of(read_guard(listed.guard));
    decoder->decode(in, op);
    if (!loads_constants(listed.opcode)) {
      for (const Operand& operand : in.operands) {
        if (operand.kind != Operand::Kind::constant) continue;
        if (operand.has_base || (operand.bank != 0 && operand.bank != kKernelBank &&
                                 operand.bank != kModuleBank && operand.bank != kAddressBank))
          in.refuse("its constant operand is not executed");
        program.has_constant_operands = true;
      }
    }
    program.classes.push_back(class_of(listed));
    program.reaches_shared |= reaches_shared(mnemonic);
    program.has_global_atomics |= is_global_atomic(mnemonic);
    program.orders_warps |= mnemonic == "BAR" && op.from[1].kind != Operand::Kind::none;
    program.ops.push_back(op);
  }
  mark_loads_of_atomics(program);
  mark_flags(program);
  return program;
}

}  // namespace gpuexp::sim
