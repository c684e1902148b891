#include <algorithm>
#include <array>
#include <cmath>

#include "sim/opcodes.hpp"
#include "sim/predicates.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;
using Half = Operand::Half;

constexpr std::uint8_t kBrain = 1;      ///< bf16
constexpr std::uint8_t kSaturate = 2;   ///< clamps to [0, 1]; NaN becomes 0
constexpr std::uint8_t kRelu = 4;       ///< negative results become 0
constexpr std::uint8_t kFlushes = 8;    ///< subnormal operands and results become 0
constexpr std::uint8_t kKeepsNan = 16;  ///< HMNMX2: NaN if either operand is NaN
constexpr std::uint8_t kXorSign = 32;   ///< HMNMX2: the sign of the operands' product

constexpr std::uint32_t kFp16Exponent = 0x7c00;  // bf16 is never flushed
constexpr std::uint32_t kHalfSign = 0x8000;
// Halfway from 2^-14 to the next smaller number with 11 bits.
constexpr double kFlushThreshold = 0x1p-14 - 0x1p-26;

GPUEXP_INLINED float value(std::uint32_t bits, std::uint8_t kind) {
  if (kind & kFlushes && (bits & kFp16Exponent) == 0) bits &= kHalfSign;
  return kind & kBrain ? value_of<kBf16>(bits) : value_of<kFp16>(bits);
}

GPUEXP_INLINED std::uint32_t result(double exact, std::uint8_t kind) {
  if (kind & kSaturate) exact = exact > 0 ? std::min(exact, 1.0) : 0;
  if (kind & kRelu && exact <= 0) exact = 0;  // also turns -0 into +0
  // Flushes a result that is below the smallest normal number even if it is rounded with an
  // unbounded exponent range, as on an H200.
  if (kind & kFlushes && std::fabs(exact) < kFlushThreshold)
    return std::signbit(exact) ? kHalfSign : 0;
  const std::uint32_t bits = kind & kBrain ? round_to<kBf16>(exact) : round_to<kFp16>(exact);
  return kind & kFlushes && (bits & kFp16Exponent) == 0 ? bits & kHalfSign : bits;
}

/// Both halves of a source. With .H0_H0 or .H1_H1, both are the same half.
struct Pair {
  Lanes<float> low;
  Lanes<float> high;
};
GPUEXP_INLINED void read_halves(const Warp& warp, const Source& source, std::uint8_t kind,
                                Pair& pair) {
  Lanes32 scratch;
  const Lanes32& raw = read_raw(warp, source, scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    float& low = pair.low[l];
    float& high = pair.high[l];
    low = value(source.half == Half::high ? raw[l] >> 16 : raw[l], kind);
    high = value(source.half == Half::low ? raw[l] : raw[l] >> 16, kind);
    if (source.absolute) low = std::fabs(low), high = std::fabs(high);
    if (source.negated) low = -low, high = -high;
  }
}

/// Joins the immediates for the upper and the lower half of one operand.
std::vector<Operand> joined(const Decoding& in, std::uint8_t kind) {
  const auto bits = [&](double number) {
    return kind & kBrain ? round_to<kBf16>(number) : round_to<kFp16>(number);
  };
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < in.operands.size(); ++i) {
    const bool is_pair = in.operands[i].kind == Kind::real && i + 1 < in.operands.size() &&
                         in.operands[i + 1].kind == Kind::real;
    if (!is_pair) {
      operands.push_back(in.operands[i]);
      continue;
    }
    Operand both;
    both.kind = Kind::integer;
    both.value = static_cast<std::int64_t>(bits(in.operands[i].number) << 16 |
                                           bits(in.operands[i + 1].number));
    operands.push_back(both);
    ++i;
  }
  return operands;
}

std::uint8_t kind_of(const Decoding& in) {
  in.refuse_form_if(in.has("FTZ") && in.has("BF16_V2"));
  return static_cast<std::uint8_t>((in.has("BF16_V2") ? kBrain : 0) |
                                   (in.has("SAT") ? kSaturate : 0) | (in.has("RELU") ? kRelu : 0) |
                                   (in.has("FTZ") ? kFlushes : 0));
}

// ---- arithmetic: exact or rounded to odd in fp64, then rounded once

GPUEXP_INLINED double fused(float a, float b, float c) {
  return sum_to_odd(static_cast<double>(a) * b, c);
}
GPUEXP_INLINED double sum(float a, float b, float) {
  return sum_to_odd(a, b);
}
GPUEXP_INLINED double product(float a, float b, float) {
  return static_cast<double>(a) * b;
}

// PTX ISA, fma.oob: the result is 0 if a factor is the NaN that a bulk copy stores for elements
// outside of a tensor. On an H200, this NaN is 0x7ff7 with either sign, and addends are not tested.
constexpr std::uint32_t kOutside = 0x7ff7;

GPUEXP_VECTORIZED void run_hfma2_oob(Warp& warp, const Op& op, LaneMask lanes) {
  std::array<Pair, 3> in;
  for (unsigned i = 0; i < 3; ++i)
    read_halves(warp, op.from[i], op.kind, in[i]);
  Lanes32 sa, sb;
  const Lanes32& a = read_raw(warp, op.from[0], sa);
  const Lanes32& b = read_raw(warp, op.from[1], sb);
  const auto is_outside = [](const Source& source, std::uint32_t bits, bool is_high) {
    const bool uses_high = source.half == Half::both ? is_high : source.half == Half::high;
    return ((uses_high ? bits >> 16 : bits) & ~kHalfSign & 0xffff) == kOutside;
  };
  Lanes32 out;
  for (unsigned l = 0; l < kLanes; ++l) {
    std::uint32_t both[2] = {result(fused(in[0].low[l], in[1].low[l], in[2].low[l]), op.kind),
                             result(fused(in[0].high[l], in[1].high[l], in[2].high[l]), op.kind)};
    for (unsigned half = 0; half < 2; ++half) {
      if (is_outside(op.from[0], a[l], half != 0) || is_outside(op.from[1], b[l], half != 0))
        both[half] = 0;
    }
    out[l] = both[0] | both[1] << 16;
  }
  write(warp, op.to[0], lanes, out);
}

template <double (*function)(float, float, float)>
GPUEXP_INLINED void run_pairs(Warp& warp, const Op& op, LaneMask lanes) {
  std::array<Pair, 3> in;
  for (unsigned i = 0; i < 3; ++i)
    read_halves(warp, op.from[i], op.kind, in[i]);
  Lanes32 out;
  for (unsigned l = 0; l < kLanes; ++l)
    out[l] = result(function(in[0].low[l], in[1].low[l], in[2].low[l]), op.kind) |
             result(function(in[0].high[l], in[1].high[l], in[2].high[l]), op.kind) << 16;
  write(warp, op.to[0], lanes, out);
}

GPUEXP_VECTORIZED void run_hfma2(Warp& warp, const Op& op, LaneMask lanes) {
  run_pairs<fused>(warp, op, lanes);
}
GPUEXP_VECTORIZED void run_hadd2(Warp& warp, const Op& op, LaneMask lanes) {
  run_pairs<sum>(warp, op, lanes);
}
GPUEXP_VECTORIZED void run_hmul2(Warp& warp, const Op& op, LaneMask lanes) {
  run_pairs<product>(warp, op, lanes);
}

GPUEXP_VECTORIZED void run_hadd2_f32(Warp& warp, const Op& op, LaneMask lanes) {
  Pair a, b;
  read_halves(warp, op.from[0], op.kind, a);
  read_halves(warp, op.from[1], op.kind, b);
  Lanes32 out;
  for (unsigned l = 0; l < kLanes; ++l) {
    const float sum = a.low[l] + b.low[l];
    out[l] = sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
  }
  write(warp, op.to[0], lanes, out);
}

// Minimum if the predicate is true, else maximum. Without .NAN, a number takes precedence over NaN.
GPUEXP_VECTORIZED void run_hmnmx2(Warp& warp, const Op& op, LaneMask lanes) {
  Pair a, b;
  read_halves(warp, op.from[0], op.kind, a);
  read_halves(warp, op.from[1], op.kind, b);
  const LaneMask minimum = read_predicate(warp, op.from[2]);
  // XORSIGN uses the signs before |…| is applied.
  Pair signs_a, signs_b;
  Source plain_a = op.from[0];
  Source plain_b = op.from[1];
  plain_a.absolute = plain_b.absolute = false;
  read_halves(warp, plain_a, op.kind, signs_a);
  read_halves(warp, plain_b, op.kind, signs_b);
  const auto chosen = [&](float x, float y, bool is_min) -> float {
    if (std::isnan(x)) return op.kind & kKeepsNan ? x : y;
    if (std::isnan(y)) return op.kind & kKeepsNan ? y : x;
    if (x == y) return std::signbit(x) == is_min ? x : y;  // -0 is below +0
    return (x < y) == is_min ? x : y;
  };
  const auto half = [&](float x, float y, bool is_min, float sign_x, float sign_y) {
    const float z = chosen(x, y, is_min);
    if (!(op.kind & kXorSign) || std::isnan(z)) return result(z, op.kind);
    return result(std::copysign(z, std::signbit(sign_x) == std::signbit(sign_y) ? 1.0f : -1.0f),
                  op.kind);
  };
  Lanes32 out;
  for (unsigned l = 0; l < kLanes; ++l)
    out[l] = half(a.low[l], b.low[l], minimum >> l & 1, signs_a.low[l], signs_b.low[l]) |
             half(a.high[l], b.high[l], minimum >> l & 1, signs_a.high[l], signs_b.high[l]) << 16;
  write(warp, op.to[0], lanes, out);
}

template <Op::Run run, std::size_t sources>
void decode_pairs(const Decoding& in, Op& op) {
  op.kind = kind_of(in);
  const Decoding all{in.listed, in.modifiers, joined(in, op.kind)};
  in.refuse_operands_if(all.operands.size() != sources + 1);
  place(all, op);
  op.run = run;
}

void decode_hfma2(const Decoding& in, Op& op) {
  decode_pairs<run_hfma2, 3>(in, op);
  if (in.has("OOB")) op.run = run_hfma2_oob;
}

void decode_hmnmx2(const Decoding& in, Op& op) {
  decode_pairs<run_hmnmx2, 3>(in, op);
  op.kind = static_cast<std::uint8_t>(op.kind | (in.has("NAN") ? kKeepsNan : 0) |
                                      (in.has("XORSIGN") ? kXorSign : 0));
}

void decode_hadd2(const Decoding& in, Op& op) {
  if (in.has("F32")) {
    in.refuse_form_if(in.modifiers.size() != 1);
    decode_pairs<run_hadd2_f32, 2>(in, op);
  } else {
    decode_pairs<run_hadd2, 2>(in, op);
  }
}

// ---- comparisons

GPUEXP_INLINED void compare_pairs(const Warp& warp, const Op& op, LaneMask& low, LaneMask& high) {
  Pair a, b;
  read_halves(warp, op.from[0], op.kind, a);
  read_halves(warp, op.from[1], op.kind, b);
  const LaneMask with = read_predicate(warp, op.from[2]);
  const auto how = static_cast<Combine>(op.value);
  low = combined(
      how, lanes_where([&](unsigned l) { return compare_floats(op.kind2, a.low[l], b.low[l]); }),
      with);
  high = combined(
      how, lanes_where([&](unsigned l) { return compare_floats(op.kind2, a.high[l], b.high[l]); }),
      with);
}

// HSETP2: one predicate for the lower halves, one for the upper halves.
GPUEXP_VECTORIZED void run_hsetp2(Warp& warp, const Op& op, LaneMask lanes) {
  LaneMask low, high;
  compare_pairs(warp, op, low, high);
  write_predicate(warp, op.to[0], lanes, low);
  write_predicate(warp, op.to[1], lanes, high);
}

// HSET2: sets a half to all ones or, with BF, to the number 1 if the comparison is true.
GPUEXP_VECTORIZED void run_hset2(Warp& warp, const Op& op, LaneMask lanes) {
  LaneMask low, high;
  compare_pairs(warp, op, low, high);
  const std::uint32_t yes = op.width != 0 ? result(1, op.kind) : 0xffff;
  Lanes32 out;
  for (unsigned l = 0; l < kLanes; ++l)
    out[l] = (low >> l & 1 ? yes : 0) | (high >> l & 1 ? yes : 0) << 16;
  write(warp, op.to[0], lanes, out);
}

// HSETP2.BF16_V2.GT.AND P0, P1, R0, R1, PT and HSET2.BF.GT.AND R2, R0, R1, PT
template <Op::Run run, std::size_t destinations>
void decode_comparison(const Decoding& in, Op& op) {
  op.kind = kind_of(in);
  const Decoding all{in.listed, in.modifiers, joined(in, op.kind)};
  in.refuse_operands_if(all.operands.size() != destinations + 3 || in.has("H_AND"));
  place(all, op, Reads::integer, destinations);
  std::optional<std::uint8_t> how;
  for (const std::string_view modifier : in.modifiers) {
    if (!how) how = float_compare(modifier);
  }
  if (!how) in.refuse("this comparison is not executed");
  op.kind2 = *how;
  op.value = static_cast<std::uint32_t>(combine_of(in));
  op.width = in.has("BF");
  op.run = run;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"HFMA2", decode_hfma2},
    {"HADD2", decode_hadd2},
    {"HMUL2", decode_pairs<run_hmul2, 2>},
    {"HMNMX2", decode_hmnmx2},
    {"HSETP2", decode_comparison<run_hsetp2, 2>},
    {"HSET2", decode_comparison<run_hset2, 1>},
};

}  // namespace

std::span<const OpcodeDecoder> half_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
