#include "sim/program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace gpuexp::sim {

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
    refuse("the target is not an address");
  return static_cast<std::uint32_t>(operand.value / kInstructionBytes);
}

std::string source_line(const Program& program, std::uint32_t place, std::string_view before) {
  if (place >= program.listed.size() || program.listed[place].file.empty()) return {};
  return fmt::format("{}{}:{}", before, program.listed[place].file, program.listed[place].line);
}

// Too large a number can miss a fault; too small a number could report a false fault.
unsigned max_registers_written(std::string_view opcode) {
  const auto has = [&](std::string_view part) {
    return opcode.find(part) != std::string_view::npos;
  };
  if (has("MMA") || has("LDSM") || has(".128")) return opcode.starts_with("HFMA2") ? 1 : 4;
  return has("64") || has(".WIDE") || opcode.starts_with('D') ? 2 : 1;
}

bool loads_constants(std::string_view opcode) {
  return opcode.starts_with("LDC") || opcode.starts_with("ULDC");
}

Source source_of(const Operand& operand, Reads reads) {
  Source source{operand};
  source.bits = static_cast<std::uint64_t>(operand.value);
  if (operand.kind == Operand::Kind::real && std::isnan(operand.number) && reads == Reads::fp32) {
    source.bits = std::signbit(operand.number) ? 0xffffffff : 0x7fffffff;
  } else if (operand.kind == Operand::Kind::real) {
    source.bits = reads == Reads::fp64
                      ? std::bit_cast<std::uint64_t>(operand.number)
                      : std::bit_cast<std::uint32_t>(static_cast<float>(operand.number));
  }
  // An integer immediate of an fp64 instruction is the upper 32 bits.
  if (operand.kind == Operand::Kind::integer && reads == Reads::fp64) source.bits <<= 32;
  return source;
}

void place(const Decoding& in, Op& op, Reads reads, std::size_t destinations) {
  const std::size_t count = in.operands.size();
  in.refuse_operands_if(count < destinations || count > destinations + op.from.size());
  for (std::size_t i = 0; i < count; ++i)
    (i < destinations ? op.to[i] : op.from[i - destinations]) = source_of(in.operands[i], reads);
}

void place_each(const Decoding& in, std::initializer_list<Source*> places, std::size_t min_count) {
  in.refuse_operands_if(in.operands.size() < min_count || in.operands.size() > places.size());
  Source* const* place = places.end() - in.operands.size();
  for (const Operand& operand : in.operands) {
    if (Source* const source = *place++) *source = source_of(operand);
  }
}

}  // namespace gpuexp::sim
