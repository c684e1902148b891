// Reads an instruction's sources and writes its destinations, for all lanes at once.
#pragma once

#include <cstring>
#include <type_traits>

#include "sim/block.hpp"

namespace gpuexp::sim {

inline constexpr std::uint32_t kSign32 = 0x80000000u;

/// Index of one of eight predicates; always in range, even if the operand is not a predicate.
constexpr unsigned predicate_index(const Source& source) {
  return source.index & kTruePredicate;
}

GPUEXP_INLINED LaneMask read_predicate(const Warp& warp, const Source& source) {
  const LaneMask value = source.kind == Operand::Kind::uniform_predicate
                             ? (warp.uniform_predicates[predicate_index(source)] ? kAllLanes : 0)
                             : warp.predicates[predicate_index(source)];
  return source.inverted ? ~value : value;
}

/// Reads a source without its modifiers. Returns registers by reference.
GPUEXP_INLINED const Lanes32& read_raw(const Warp& warp, const Source& source, Lanes32& scratch) {
  switch (source.kind) {
    case Operand::Kind::reg: return warp.registers[source.index];
    case Operand::Kind::uniform: scratch.of.fill(warp.uniform[source.index]); return scratch;
    default: scratch.of.fill(static_cast<std::uint32_t>(source.bits)); return scratch;
  }
}

/// Reads a source as an integer: -R is the two's complement, ~R the bitwise complement.
GPUEXP_INLINED const Lanes32& read_integer(const Warp& warp, const Source& source,
                                           Lanes32& scratch) {
  const Lanes32& raw = read_raw(warp, source, scratch);
  if (!source.negated && !source.inverted && !source.absolute) return raw;
  for (unsigned l = 0; l < kLanes; ++l) {
    std::uint32_t value = raw[l];
    if (source.absolute) value = static_cast<std::int32_t>(value) < 0 ? 0u - value : value;
    if (source.inverted) value = ~value;
    scratch[l] = source.negated ? 0u - value : value;
  }
  return scratch;
}

/// Reads a source as fp32: |R| and -R change the sign bit.
GPUEXP_INLINED const Lanes32& read_float_bits(const Warp& warp, const Source& source,
                                              Lanes32& scratch) {
  const Lanes32& raw = read_raw(warp, source, scratch);
  if (!source.negated && !source.absolute) return raw;
  const std::uint32_t keep = source.absolute ? ~kSign32 : ~0u;
  const std::uint32_t flip = source.negated ? kSign32 : 0u;
  for (unsigned l = 0; l < kLanes; ++l)
    scratch[l] = (raw[l] & keep) ^ flip;
  return scratch;
}

/// Reads a pair of registers; the first register has the lower bits.
GPUEXP_INLINED void read_pair(const Warp& warp, const Source& source, Lanes64& value) {
  if (source.kind == Operand::Kind::reg) {
    if (source.index == kZeroRegister) return value.of.fill(0);
    const Lanes32& low = warp.registers[source.index];
    const Lanes32& high = warp.registers[source.index + 1u];
    for (unsigned l = 0; l < kLanes; ++l)
      value[l] = low[l] | static_cast<std::uint64_t>(high[l]) << 32;
    return;
  }
  std::uint64_t same = source.bits;
  if (source.kind == Operand::Kind::uniform) {
    same = source.index == kZeroUniformRegister
               ? 0
               : warp.uniform[source.index] |
                     static_cast<std::uint64_t>(warp.uniform[source.index + 1u]) << 32;
  }
  value.of.fill(same);
}

/// Where to store the lanes' results before write(): the register itself if all lanes are written,
/// else `scratch`. The register may also be a source.
GPUEXP_INLINED Lanes32& result_of(Warp& warp, const Source& to, LaneMask lanes, Lanes32& scratch) {
  const bool is_whole =
      lanes == kAllLanes && to.kind != Operand::Kind::uniform && to.index != kZeroRegister;
  return is_whole ? warp.registers[to.index] : scratch;
}

GPUEXP_INLINED void write(Warp& warp, const Source& to, LaneMask lanes, const Lanes32& value) {
  if (to.kind == Operand::Kind::uniform) {
    if (to.index != kZeroUniformRegister) warp.uniform[to.index] = value[0];
    return;
  }
  if (to.index == kZeroRegister) return;
  Lanes32& reg = warp.registers[to.index];
  if (lanes == kAllLanes) {
    if (&reg != &value) reg = value;
    return;
  }
  for (unsigned l = 0; l < kLanes; ++l)
    reg[l] = lanes >> l & 1 ? value[l] : reg[l];
}

using ReadLanes = const Lanes32& (*)(const Warp& warp, const Source& source, Lanes32& scratch);

/// Writes function(a), function(a, b) or function(a, b, c) per lane; the arguments are the first
/// sources.
template <ReadLanes read = read_integer, class Function>
GPUEXP_INLINED void write_each(Warp& warp, const Op& op, LaneMask lanes, const Function& function) {
  using Bits = std::uint32_t;
  constexpr bool kTakesThree = std::is_invocable_v<Function, Bits, Bits, Bits>;
  constexpr bool kTakesTwo = std::is_invocable_v<Function, Bits, Bits>;
  Lanes32 sa, sb, sc, scratch;
  const Lanes32& a = read(warp, op.from[0], sa);
  const Lanes32& b = kTakesTwo || kTakesThree ? read(warp, op.from[1], sb) : a;
  const Lanes32& c = kTakesThree ? read(warp, op.from[2], sc) : a;
  Lanes32& result = result_of(warp, op.to[0], lanes, scratch);
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l) {
    if constexpr (kTakesThree)
      result[l] = function(a[l], b[l], c[l]);
    else if constexpr (kTakesTwo)
      result[l] = function(a[l], b[l]);
    else
      result[l] = function(a[l]);
  }
  write(warp, op.to[0], lanes, result);
}

GPUEXP_INLINED Source next_register(Source source, unsigned places = 1) {
  const bool is_zero = source.kind == Operand::Kind::uniform ? source.index == kZeroUniformRegister
                                                             : source.index == kZeroRegister;
  if (!is_zero) source.index = static_cast<std::uint8_t>(source.index + places);
  return source;
}

GPUEXP_INLINED void write_pair(Warp& warp, const Source& to, LaneMask lanes, const Lanes64& value) {
  Lanes32 half;
  for (unsigned l = 0; l < kLanes; ++l)
    half[l] = static_cast<std::uint32_t>(value[l]);
  write(warp, to, lanes, half);
  for (unsigned l = 0; l < kLanes; ++l)
    half[l] = static_cast<std::uint32_t>(value[l] >> 32);
  write(warp, next_register(to), lanes, half);
}

GPUEXP_INLINED void write_predicate(Warp& warp, const Source& to, LaneMask lanes, LaneMask value) {
  const unsigned index = predicate_index(to);
  if (index == kTruePredicate || to.kind == Operand::Kind::none) return;
  if (to.kind == Operand::Kind::uniform_predicate) {
    warp.uniform_predicates[index] = (value & 1) != 0;
    return;
  }
  LaneMask& predicate = warp.predicates[index];
  predicate = (predicate & ~lanes) | (value & lanes);
}

}  // namespace gpuexp::sim
