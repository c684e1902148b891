#include <algorithm>
#include <array>
#include <numbers>
#include <type_traits>

#include "sim/float_values.hpp"
#include "sim/fused_products.hpp"
#include "sim/opcodes.hpp"
#include "sim/predicates.hpp"

namespace gpuexp::sim {

namespace {

// Operations on fp32 and fp64. to_odd() rounds the exact result of fp32 operands to odd.
struct Fused {
  template <class T>
  GPUEXP_INLINED T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
  static double to_odd(float a, float b, float c) {
    return sum_to_odd(static_cast<double>(a) * b, c);
  }
};
struct Sum {
  template <class T>
  GPUEXP_INLINED T operator()(T a, T b, T) const {
    return a + b;
  }
  static double to_odd(float a, float b, float) { return sum_to_odd(a, b); }
};
struct Product {
  template <class T>
  GPUEXP_INLINED T operator()(T a, T b, T) const {
    return a * b;
  }
  static double to_odd(float a, float b, float) { return static_cast<double>(a) * b; }
};

// ---- fp32

GPUEXP_INLINED float operand(std::uint32_t bits, std::uint8_t kind) {
  const float x = std::bit_cast<float>(bits);
  return kind & kFtz ? flushed(x) : x;
}

// With .FTZ, a result that rounds to the smallest normal number becomes zero if, with an unbounded
// exponent range, it would round to a smaller number, as on an H200. Returns false for such a
// result. `exact` must be rounded to odd.
bool reaches_min_normal(double exact, Rounding rounding) {
  constexpr double kSmallest = std::numeric_limits<float>::min();
  constexpr double kStep = kSmallest / (1 << 24);  // distance to the preceding number with 24 bits
  const double magnitude = std::fabs(exact);
  const bool is_negative = std::signbit(exact);
  if (rounding == Rounding::nearest) return magnitude >= kSmallest - kStep / 2;
  const bool is_up = rounding == (is_negative ? Rounding::down : Rounding::up);
  return is_up ? magnitude > kSmallest - kStep : magnitude >= kSmallest;
}

constexpr std::uint32_t kMinNormal = 0x00800000;

GPUEXP_INLINED bool has_min_normal(const Lanes32& result) {
  std::uint32_t found = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    found |= (result[l] & ~kSign32) == kMinNormal ? 1u : 0u;
  return found != 0;
}

template <class Function>
void flush_below_min_normal(const Op& op, const Lanes32& a, const Lanes32& b, const Lanes32& c,
                            Lanes32& result) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if ((result[l] & ~kSign32) != kMinNormal) continue;
    const RoundingScope scope(Rounding::nearest);
    const double exact =
        Function::to_odd(operand(a[l], op.kind), operand(b[l], op.kind), operand(c[l], op.kind));
    if (!reaches_min_normal(exact, static_cast<Rounding>(op.kind2))) result[l] &= kSign32;
  }
}

constexpr std::uint32_t kInfinity32 = 0x7f800000;

template <class Function>
GPUEXP_INLINED void each(Warp& warp, const Op& op, LaneMask lanes, const Function& function) {
  Lanes32 sa, sb, sc, scratch;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const Lanes32& c = read_float_bits(warp, op.from[2], sc);
  if (op.kind == 0) {
    Lanes32& result = result_of(warp, op.to[0], lanes, scratch);
    if constexpr (std::is_same_v<Function, Fused>) {
      fuse(a, b, c, result);
    } else {
      GPUEXP_LANE_BY_LANE
      for (unsigned l = 0; l < kLanes; ++l)
        result[l] = std::bit_cast<std::uint32_t>(function(
            std::bit_cast<float>(a[l]), std::bit_cast<float>(b[l]), std::bit_cast<float>(c[l])));
    }
    for (unsigned l = 0; l < kLanes; ++l)
      result[l] = (result[l] & ~kSign32) > kInfinity32 ? kNan32 : result[l];
    return write(warp, op.to[0], lanes, result);
  }
  for (unsigned l = 0; l < kLanes; ++l)
    scratch[l] = finished(
        function(operand(a[l], op.kind), operand(b[l], op.kind), operand(c[l], op.kind)), op.kind);
  if (op.kind & kFtz && has_min_normal(scratch))
    flush_below_min_normal<Function>(op, a, b, c, scratch);
  write(warp, op.to[0], lanes, scratch);
}

GPUEXP_VECTORIZED void run_ffma(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, Fused{});
}
GPUEXP_VECTORIZED void run_fadd(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, Sum{});
}
GPUEXP_VECTORIZED void run_fmul(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, Product{});
}

template <Op::Run nearest>
void run_rounded(Warp& warp, const Op& op, LaneMask lanes) {
  const RoundingScope scope(static_cast<Rounding>(op.kind2));
  nearest(warp, op, lanes);
}

template <Reads reads, Op::Run nearest>
void decode_arithmetic(const Decoding& in, Op& op) {
  place_float(in, op, reads);
  op.run = op.kind2 == 0 ? nearest : run_rounded<nearest>;
}

// Minimum or maximum of two numbers, where -0 is less than +0. If one operand is NaN, returns the
// other operand.
template <class T>
T float_min_or_max(T a, T b, bool takes_min) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == takes_min ? a : b;
  return takes_min == (a < b) ? a : b;
}

/// Flags of FMNMX in Op::value.
constexpr std::uint32_t kKeepsNan = 1;
constexpr std::uint32_t kXorSign = 2;

GPUEXP_VECTORIZED void run_fmnmx(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, ra, rb, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const Lanes32& raw_a = read_raw(warp, op.from[0], ra);
  const Lanes32& raw_b = read_raw(warp, op.from[1], rb);
  const LaneMask min_lanes = read_predicate(warp, op.from[2]);
  for (unsigned l = 0; l < kLanes; ++l) {
    const float x = operand(a[l], op.kind);
    const float y = operand(b[l], op.kind);
    const bool is_nan = (op.value & kKeepsNan) && (std::isnan(x) || std::isnan(y));
    result[l] =
        is_nan ? kNan32 : finished(float_min_or_max(x, y, (min_lanes >> l & 1) != 0), op.kind);
    // The result gets the sign of the operands' product before |…| and - are applied.
    if (op.value & kXorSign && result[l] != kNan32)
      result[l] = (result[l] & ~kSign32) | ((raw_a[l] ^ raw_b[l]) & kSign32);
  }
  write(warp, op.to[0], lanes, result);
}

GPUEXP_VECTORIZED void run_fmnmx3(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const Lanes32& c = read_float_bits(warp, op.from[2], sc);
  const LaneMask min_lanes = read_predicate(warp, op.from[3]);
  for (unsigned l = 0; l < kLanes; ++l) {
    const float x = operand(a[l], op.kind);
    const float y = operand(b[l], op.kind);
    const float z = operand(c[l], op.kind);
    const bool is_nan = (op.value & kKeepsNan) && (std::isnan(x) || std::isnan(y) || std::isnan(z));
    const bool is_min = (min_lanes >> l & 1) != 0;
    const float chosen = float_min_or_max(float_min_or_max(x, y, is_min), z, is_min);
    result[l] = is_nan ? kNan32 : finished(chosen, op.kind);
  }
  write(warp, op.to[0], lanes, result);
}

void decode_fmnmx3(const Decoding& in, Op& op) {
  place_float(in, op, Reads::fp32);
  const std::size_t known = std::size_t{in.has("NAN")} + std::size_t{in.has("FTZ")};
  in.refuse_form_if(in.operands.size() != 5 || in.modifiers.size() != known);
  op.value = in.has("NAN") ? kKeepsNan : 0;
  op.run = run_fmnmx3;
}

void decode_fmnmx(const Decoding& in, Op& op) {
  place_float(in, op, Reads::fp32);
  op.value = (in.has("NAN") ? kKeepsNan : 0) | (in.has("XORSIGN") ? kXorSign : 0);
  op.run = run_fmnmx;
}

// ---- comparisons

GPUEXP_INLINED LaneMask compared(const Warp& warp, const Op& op) {
  Lanes32 sa, sb;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  return lanes_where([&](unsigned l) {
    return compare_floats(op.kind2, operand(a[l], op.kind), operand(b[l], op.kind));
  });
}

GPUEXP_VECTORIZED void run_fsetp(Warp& warp, const Op& op, LaneMask lanes) {
  write_comparison(warp, op, lanes, compared(warp, op));
}

// FSET: all ones or, with BF, the number 1 if the comparison is true; otherwise 0.
GPUEXP_VECTORIZED void run_fset(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask holds = combined(static_cast<Combine>(op.value), compared(warp, op),
                                  read_predicate(warp, op.from[2]));
  const std::uint32_t yes = op.width != 0 ? std::bit_cast<std::uint32_t>(1.0f) : ~0u;
  Lanes32 result;
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = holds >> l & 1 ? yes : 0;
  write(warp, op.to[0], lanes, result);
}

void decode_comparison(const Decoding& in, Op& op, Reads reads) {
  in.refuse_operands_if(in.operands.size() < 4 || in.operands.size() > 5 || in.modifiers.empty());
  place(in, op, reads, in.operands.size() - 3);
  op.kind = in.has("FTZ") ? kFtz : 0;
  const auto how = float_compare(in.modifiers.front());
  if (!how) in.refuse("its comparison is not executed");
  op.kind2 = *how;
  op.value = static_cast<std::uint32_t>(combine_of(in));
}

void decode_fsetp(const Decoding& in, Op& op) {
  decode_comparison(in, op, Reads::fp32);
  op.run = run_fsetp;
}

// FSET.BF.GT.FTZ.AND R4, R5, R6, PT
void decode_fset(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 4 || in.modifiers.empty());
  Decoding comparison = in;
  const bool is_float = in.modifiers.front() == "BF";
  if (is_float) comparison.modifiers.erase(comparison.modifiers.begin());
  decode_comparison(comparison, op, Reads::fp32);
  op.width = is_float;
  op.run = run_fset;
}

// FCHK: whether a division needs the slower code path, which scales its operands. Because the
// hardware's limits are not published, this path is taken if an operand is not a normal number, or
// if the quotient, the remainder or 1 / b is near the ends of the range. Otherwise, both paths give
// the same quotient.
GPUEXP_INLINED bool needs_scaling(float a, float b) {
  constexpr int kFraction = 24;
  const int exponent_a = static_cast<int>(std::bit_cast<std::uint32_t>(a) >> 23 & 0xff);
  const int exponent_b = static_cast<int>(std::bit_cast<std::uint32_t>(b) >> 23 & 0xff);
  const int quotient_exponent = exponent_a - exponent_b + 127;
  return exponent_b == 0 || exponent_b >= 253 || exponent_a <= kFraction || exponent_a == 255 ||
         quotient_exponent <= 2 || quotient_exponent >= 253;
}

void run_fchk(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  write_predicate(warp, op.to[0], lanes, lanes_where([&](unsigned l) {
                    return needs_scaling(std::bit_cast<float>(a[l]), std::bit_cast<float>(b[l]));
                  }));
}

void decode_fchk(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 3);
  place_float(in, op, Reads::fp32);
  op.run = run_fchk;
}

// ---- fp64

GPUEXP_INLINED void read_doubles(const Warp& warp, const Source& source, Lanes<double>& value) {
  Lanes64 bits;
  read_pair(warp, source, bits);
  for (unsigned l = 0; l < kLanes; ++l) {
    double x = std::bit_cast<double>(bits[l]);
    if (source.absolute) x = std::fabs(x);
    value[l] = source.negated ? -x : x;
  }
}

// fp64 arithmetic returns a NaN operand as a quiet NaN with its own sign, without |…| and -: the
// second operand if it is NaN, otherwise the third, otherwise the first, as on an H200.
std::uint64_t passed_nan(const Warp& warp, const Op& op, unsigned lane) {
  for (const unsigned i : {1u, 2u, 0u}) {
    Lanes64 bits;
    read_pair(warp, op.from[i], bits);
    if (std::isnan(std::bit_cast<double>(bits[lane]))) return bits[lane] | kQuiet64;
  }
  return kNan64;
}

template <class Function>
GPUEXP_INLINED void each_double(Warp& warp, const Op& op, LaneMask lanes,
                                const Function& function) {
  Lanes<double> a, b, c;
  read_doubles(warp, op.from[0], a);
  read_doubles(warp, op.from[1], b);
  read_doubles(warp, op.from[2], c);
  Lanes64 result;
  bool any_nan = false;
  for (unsigned l = 0; l < kLanes; ++l) {
    const double x = function(a[l], b[l], c[l]);
    result[l] = std::bit_cast<std::uint64_t>(x);
    any_nan |= x != x;
  }
  for (unsigned l = 0; any_nan && l < kLanes; ++l) {
    if (std::isnan(std::bit_cast<double>(result[l]))) result[l] = passed_nan(warp, op, l);
  }
  write_pair(warp, op.to[0], lanes, result);
}

GPUEXP_VECTORIZED void run_dfma(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, Fused{});
}
GPUEXP_VECTORIZED void run_dadd(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, Sum{});
}
GPUEXP_VECTORIZED void run_dmul(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, Product{});
}

constexpr std::uint8_t kIsMin = 1;

// DSETP.MAX and MIN: the first predicate is true if the result is the first operand. The second
// predicate is true if both are NaN; subsequent code then produces a NaN.
void run_dsetp_minmax(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes<double> a, b;
  read_doubles(warp, op.from[0], a);
  read_doubles(warp, op.from[1], b);
  const bool is_min = op.kind2 == kIsMin;
  LaneMask first = 0;
  LaneMask nan = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool second = a[l] == b[l] ? std::signbit(a[l]) != is_min
                        : is_min     ? b[l] < a[l]
                                     : a[l] < b[l];
    first |= LaneMask{!second && !std::isnan(a[l])} << l;
    nan |= LaneMask{std::isnan(a[l]) && std::isnan(b[l])} << l;
  }
  write_predicate(warp, op.to[0], lanes, first);
  write_predicate(warp, op.to[1], lanes, nan);
}

GPUEXP_VECTORIZED void run_dsetp(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes<double> a, b;
  read_doubles(warp, op.from[0], a);
  read_doubles(warp, op.from[1], b);
  write_comparison(warp, op, lanes,
                   lanes_where([&](unsigned l) { return compare_floats(op.kind2, a[l], b[l]); }));
}

void decode_dsetp(const Decoding& in, Op& op) {
  const bool is_min = in.has("MIN");
  if (is_min || in.has("MAX")) {
    Decoding as_greater{in.listed, in.modifiers, in.operands};
    as_greater.modifiers.front() = "GE";
    decode_comparison(as_greater, op, Reads::fp64);
    op.kind2 = is_min ? kIsMin : 0;
    op.run = run_dsetp_minmax;
    return;
  }
  decode_comparison(in, op, Reads::fp64);
  op.run = run_dsetp;
}

// ---- functions of one value. The hardware approximates them (PTX ISA, the errors of .approx); the
// simulator computes them in fp64 and converts the results.

enum class Function : std::uint8_t { rcp, rsq, sqrt, ex2, lg2, sin, cos, tanh };
constexpr std::array<std::string_view, 8> kFunctions{"RCP", "RSQ", "SQRT", "EX2",
                                                     "LG2", "SIN", "COS",  "TANH"};

GPUEXP_INLINED double value_at(Function function, double x) {
  switch (function) {
    case Function::rcp: return 1 / x;
    case Function::rsq: return 1 / std::sqrt(x);
    case Function::sqrt: return std::sqrt(x);
    case Function::ex2: return std::exp2(x);
    case Function::lg2: return std::log2(x);
    // The argument is in revolutions: preceding code has divided the angle by 2 pi.
    case Function::sin: return std::sin(2 * std::numbers::pi * (x - std::nearbyint(x)));
    case Function::cos: return std::cos(2 * std::numbers::pi * (x - std::nearbyint(x)));
    case Function::tanh: return std::tanh(x);
  }
  return x;
}

void run_mufu(Warp& warp, const Op& op, LaneMask lanes) {
  const auto function = static_cast<Function>(op.kind2);
  write_each<read_float_bits>(warp, op, lanes, [&](std::uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    // Only TANH does not flush subnormal numbers.
    return function == Function::tanh
               ? finished(static_cast<float>(std::tanh(static_cast<double>(x))), 0)
               : finished(static_cast<float>(value_at(function, flushed(x))), kFtz);
  });
}

// EX2 of fp16 and bf16 does not flush subnormal operands. A subnormal result is rounded toward zero
// in fp16 and becomes zero in bf16, as on an H200.
template <SmallFloat format>
std::uint32_t exponential_bits(double y) {
  const double min_normal = std::ldexp(1.0, 1 - format.bias());
  if (!(y < min_normal)) return round_to<format>(y);
  return format.exponent_bits == kBf16.exponent_bits ? 0 : round_to<format>(y, Rounding::zero);
}

template <SmallFloat format>
void run_mufu_half(Warp& warp, const Op& op, LaneMask lanes) {
  const auto function = static_cast<Function>(op.kind2);
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t raw) {
    double x = value_of<format>(op.from[0].half == Operand::Half::high ? raw >> 16 : raw);
    if (op.from[0].absolute) x = std::fabs(x);
    if (op.from[0].negated) x = -x;
    const double y = value_at(function, x);
    return function == Function::ex2 ? exponential_bits<format>(y) : round_to<format>(y);
  });
}

double flushed(double x) {
  return std::fabs(x) < std::numeric_limits<double>::min() ? std::copysign(0.0, x) : x;
}

// The instruction reads and writes only the upper word of fp64 numbers.
void run_mufu64(Warp& warp, const Op& op, LaneMask lanes) {
  write_each<read_float_bits>(warp, op, lanes, [&](std::uint32_t upper) {
    const double x = std::bit_cast<double>(static_cast<std::uint64_t>(upper) << 32);
    const double y = flushed(value_at(static_cast<Function>(op.kind2), flushed(x)));
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(y) >> 32);
  });
}

void decode_mufu(const Decoding& in, Op& op) {
  const bool is_half = in.has("F16") || in.has("BF16");
  in.refuse_form_if(in.modifiers.size() != (is_half ? 2u : 1u) || in.operands.size() != 2);
  place_float(in, op, Reads::fp32);
  std::string_view name = in.modifiers.front();
  const bool is_fp64 = name.ends_with("64H");
  if (is_fp64) name.remove_suffix(3);
  const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
  if (found == kFunctions.end()) in.refuse("this function is not executed");
  op.kind2 = static_cast<std::uint8_t>(found - kFunctions.begin());
  if (is_fp64 && in.operands[1].kind == Operand::Kind::real)
    op.from[0].bits = std::bit_cast<std::uint64_t>(in.operands[1].number) >> 32;
  op.run = in.has("F16")    ? run_mufu_half<kFp16>
           : in.has("BF16") ? run_mufu_half<kBf16>
           : is_fp64        ? run_mufu64
                            : run_mufu;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"FFMA", decode_arithmetic<Reads::fp32, run_ffma>},
    {"FADD", decode_arithmetic<Reads::fp32, run_fadd>},
    {"FMUL", decode_arithmetic<Reads::fp32, run_fmul>},
    {"UFFMA", decode_arithmetic<Reads::fp32, run_ffma>},
    {"UFADD", decode_arithmetic<Reads::fp32, run_fadd>},
    {"UFMUL", decode_arithmetic<Reads::fp32, run_fmul>},
    {"FMNMX", decode_fmnmx},
    {"FMNMX3", decode_fmnmx3},
    {"FSETP", decode_fsetp},
    {"UFSETP", decode_fsetp},
    {"FSET", decode_fset},
    {"DFMA", decode_arithmetic<Reads::fp64, run_dfma>},
    {"DADD", decode_arithmetic<Reads::fp64, run_dadd>},
    {"DMUL", decode_arithmetic<Reads::fp64, run_dmul>},
    {"DSETP", decode_dsetp},
    {"FCHK", decode_fchk},
    {"MUFU", decode_mufu},
};

}  // namespace

std::span<const OpcodeDecoder> float_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
