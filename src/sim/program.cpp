#include "sim/program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/opcodes.hpp"

namespace gpuexp::sim {

namespace {

std::vector<std::string_view> modifiers_of(std::string_view opcode, std::string_view& mnemonic) {
  std::vector<std::string_view> parts;
  while (!opcode.empty()) {
    const std::size_t dot = std::min(opcode.find('.'), opcode.size());
    parts.push_back(opcode.substr(0, dot));
    opcode.remove_prefix(std::min(dot + 1, opcode.size()));
  }
  mnemonic = parts.empty() ? std::string_view{} : parts.front();
  if (!parts.empty()) parts.erase(parts.begin());
  return parts;
}

const OpcodeDecoder* find_decoder(std::string_view mnemonic) {
  for (const auto& opcodes : {integer_opcodes(), float_opcodes(), memory_opcodes(),
                              control_opcodes(), matrix_opcodes()}) {
    const auto found = std::find_if(opcodes.begin(), opcodes.end(),
                                    [&](const OpcodeDecoder& d) { return d.mnemonic == mnemonic; });
    if (found != opcodes.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

bool Decoding::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

void Decoding::refuse(std::string_view why) const {
  throw std::runtime_error(
      fmt::format("{} {} at {:#x}: {}", listed.opcode, listed.operands, listed.address, why));
}

std::uint32_t Decoding::target(const Operand& operand) const {
  constexpr std::int64_t kInstructionBytes = 16;
  if (operand.kind != Operand::Kind::integer || operand.value < 0 ||
      operand.value % kInstructionBytes != 0)
    refuse("the target is no address");
  return static_cast<std::uint32_t>(operand.value / kInstructionBytes);
}

Source source_of(const Operand& operand, Reads reads) {
  Source source;
  source.kind = operand.kind;
  source.half = operand.half;
  source.index = operand.index;
  source.uniform_index = operand.uniform_index;
  source.negated = operand.negated;
  source.inverted = operand.inverted;
  source.absolute = operand.absolute;
  source.wide = operand.wide;
  source.bits = static_cast<std::uint64_t>(operand.value);
  if (operand.kind == Operand::Kind::real) {
    source.bits = reads == Reads::fp64
                      ? std::bit_cast<std::uint64_t>(operand.number)
                      : std::bit_cast<std::uint32_t>(static_cast<float>(operand.number));
  }
  // An integer that an fp64 instruction has are its upper bits.
  if (operand.kind == Operand::Kind::integer && reads == Reads::fp64) source.bits <<= 32;
  return source;
}

Program decode(const KernelCode& code) {
  Program program;
  program.name = code.lowered_name;
  program.listed = code.instructions;
  program.constants = code.constants;
  program.ops.reserve(code.instructions.size());
  for (const ListedInstruction& listed : code.instructions) {
    std::string_view mnemonic;
    Decoding in{listed, modifiers_of(listed.opcode, mnemonic), read_operands(listed.operands)};
    const OpcodeDecoder* decoder = find_decoder(mnemonic);
    if (!decoder) in.refuse("the simulator does not execute this instruction");
    Op op;
    op.guard = source_of(read_guard(listed.guard), Reads::integer);
    decoder->decode(in, op);
    program.ops.push_back(op);
  }
  return program;
}

}  // namespace gpuexp::sim
