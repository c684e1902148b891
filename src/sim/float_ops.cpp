#include "sim/float_ops.hpp"

#include <algorithm>
#include <array>

#include "sim/float_values.hpp"
#include "sim/predicates.hpp"

namespace gpuexp::sim {

namespace {

// ---- fp32

GPUEXP_INLINED float operand(std::uint32_t bits, std::uint8_t kind) {
  const float x = std::bit_cast<float>(bits);
  return kind & kFtz ? flushed(x) : x;
}

template <class Function>
GPUEXP_INLINED void each(Warp& warp, const Op& op, LaneMask lanes, const Function& function) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const Lanes32& c = read_float_bits(warp, op.from[2], sc);
  if (op.kind == 0) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const float x = function(std::bit_cast<float>(a[l]), std::bit_cast<float>(b[l]),
                               std::bit_cast<float>(c[l]));
      result[l] = x != x ? kNan32 : std::bit_cast<std::uint32_t>(x);
    }
  } else {
    for (unsigned l = 0; l < kLanes; ++l)
      result[l] =
          finished(function(operand(a[l], op.kind), operand(b[l], op.kind), operand(c[l], op.kind)),
                   op.kind);
  }
  write(warp, op.to[0], lanes, result);
}

// Of fp32 and of fp64.
constexpr auto kFused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto kSum = [](auto a, auto b, auto) { return a + b; };
constexpr auto kProduct = [](auto a, auto b, auto) { return a * b; };

GPUEXP_VECTORIZED void run_ffma(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, kFused);
}
GPUEXP_VECTORIZED void run_fadd(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, kSum);
}
GPUEXP_VECTORIZED void run_fmul(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, kProduct);
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

// A lane's number where the other is NaN; -0 is less than +0.
template <class T>
T least_or_most(T a, T b, bool least) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == least ? a : b;
  return least == (a < b) ? a : b;
}

GPUEXP_VECTORIZED void run_fmnmx(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const LaneMask least = read_predicate(warp, op.from[2]);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = finished(
        least_or_most(operand(a[l], op.kind), operand(b[l], op.kind), (least >> l & 1) != 0),
        op.kind);
  write(warp, op.to[0], lanes, result);
}

void decode_fmnmx(const Decoding& in, Op& op) {
  place_float(in, op, Reads::fp32);
  op.run = run_fmnmx;
}

// Comparisons of numbers; with U they also hold where either is NaN.
constexpr std::array<std::string_view, 14> kCompares{
    "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU"};
constexpr std::uint8_t kGeu = 14;

GPUEXP_INLINED bool compare(std::uint8_t how, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return how >= 8;
  const std::uint8_t ordered = how == kGeu ? 6 : how >= 9 ? how - 8 : how;
  switch (ordered) {
    case 1: return a < b;
    case 2: return a == b;
    case 3: return a <= b;
    case 4: return a > b;
    case 5: return a != b;
    case 6: return a >= b;
    case 7: return true;
    default: return false;
  }
}

GPUEXP_VECTORIZED void run_fsetp(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  LaneMask result = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    result |= LaneMask{compare(op.kind2, operand(a[l], op.kind), operand(b[l], op.kind))} << l;
  write_comparison(warp, op, lanes, result);
}

void decode_comparison(const Decoding& in, Op& op, Reads reads) {
  if (in.operands.size() != 5 || in.modifiers.empty()) in.refuse("its operands are not understood");
  for (unsigned i = 0; i < 2; ++i)
    op.to[i] = source_of(in.operands[i], reads);
  for (unsigned i = 0; i < 3; ++i)
    op.from[i] = source_of(in.operands[i + 2], reads);
  op.kind = in.has("FTZ") ? kFtz : 0;
  const auto how = std::find(kCompares.begin(), kCompares.end(), in.modifiers.front());
  if (how != kCompares.end()) {
    op.kind2 = static_cast<std::uint8_t>(how - kCompares.begin());
  } else if (in.modifiers.front() == "GEU") {
    op.kind2 = kGeu;
  } else {
    in.refuse("its comparison is not executed");
  }
  op.value = static_cast<std::uint32_t>(combine_of(in));
}

void decode_fsetp(const Decoding& in, Op& op) {
  decode_comparison(in, op, Reads::fp32);
  op.run = run_fsetp;
}

// FCHK: whether a quotient needs the longer way, which scales. The hardware's own limits are not
// published: these take it for all operands that are no ordinary numbers, and for quotients and
// remainders near the end of the range. Both ways give the same quotient elsewhere.
GPUEXP_INLINED bool needs_scaling(float a, float b) {
  constexpr int kFraction = 24;
  const int of_a = static_cast<int>(std::bit_cast<std::uint32_t>(a) >> 23 & 0xff);
  const int of_b = static_cast<int>(std::bit_cast<std::uint32_t>(b) >> 23 & 0xff);
  const int of_quotient = of_a - of_b + 127;
  return of_b == 0 || of_b >= 253 || of_a <= kFraction || of_a == 255 || of_quotient <= 2 ||
         of_quotient >= 253;
}

void run_fchk(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  LaneMask result = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    result |= LaneMask{needs_scaling(std::bit_cast<float>(a[l]), std::bit_cast<float>(b[l]))} << l;
  write_predicate(warp, op.to[0], lanes, result);
}

void decode_fchk(const Decoding& in, Op& op) {
  if (in.operands.size() != 3) in.refuse("its operands are not understood");
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

template <class Function>
GPUEXP_INLINED void each_double(Warp& warp, const Op& op, LaneMask lanes,
                                const Function& function) {
  Lanes<double> a, b, c;
  read_doubles(warp, op.from[0], a);
  read_doubles(warp, op.from[1], b);
  read_doubles(warp, op.from[2], c);
  Lanes64 result;
  for (unsigned l = 0; l < kLanes; ++l) {
    const double x = function(a[l], b[l], c[l]);
    result[l] = std::isnan(x) ? kNan64 : std::bit_cast<std::uint64_t>(x);
  }
  write_pair(warp, op.to[0], lanes, result);
}

GPUEXP_VECTORIZED void run_dfma(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, kFused);
}
GPUEXP_VECTORIZED void run_dadd(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, kSum);
}
GPUEXP_VECTORIZED void run_dmul(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, kProduct);
}

constexpr std::uint8_t kLeast = 1;

// DSETP.MAX and MIN: whether the first is the result, which it is where only the second is NaN; and
// whether both are NaN, for which the code after it makes one.
void run_dsetp_most(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes<double> a, b;
  read_doubles(warp, op.from[0], a);
  read_doubles(warp, op.from[1], b);
  const bool is_least = op.kind2 == kLeast;
  LaneMask first = 0;
  LaneMask nan = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool second = is_least ? b[l] < a[l] : a[l] < b[l];
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
  LaneMask result = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    result |= LaneMask{compare(op.kind2, a[l], b[l])} << l;
  write_comparison(warp, op, lanes, result);
}

void decode_dsetp(const Decoding& in, Op& op) {
  const bool is_least = in.has("MIN");
  if (is_least || in.has("MAX")) {
    Decoding as_greater{in.listed, in.modifiers, in.operands};
    as_greater.modifiers.front() = "GE";
    decode_comparison(as_greater, op, Reads::fp64);
    op.kind2 = is_least ? kLeast : 0;
    op.run = run_dsetp_most;
    return;
  }
  decode_comparison(in, op, Reads::fp64);
  op.run = run_dsetp;
}

// ---- functions of one value. The hardware's are approximations (PTX ISA, the errors of .approx);
// here they are rounded to the nearest.

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
    case Function::sin: return std::sin(x);
    case Function::cos: return std::cos(x);
    case Function::tanh: return std::tanh(x);
  }
  return x;
}

void run_mufu(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    const float x = flushed(std::bit_cast<float>(a[l]));
    result[l] = finished(static_cast<float>(value_at(static_cast<Function>(op.kind2), x)), kFtz);
  }
  write(warp, op.to[0], lanes, result);
}

// Of the upper word of an fp64 value, that of the result.
void run_mufu64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    const double x = std::bit_cast<double>(static_cast<std::uint64_t>(a[l]) << 32);
    const double y = value_at(static_cast<Function>(op.kind2), x);
    result[l] = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(y) >> 32);
  }
  write(warp, op.to[0], lanes, result);
}

void decode_mufu(const Decoding& in, Op& op) {
  if (in.modifiers.size() != 1 || in.operands.size() != 2) in.refuse("this form is not executed");
  place_float(in, op, Reads::fp32);
  std::string_view name = in.modifiers.front();
  const bool is_fp64 = name.ends_with("64H");
  if (is_fp64) name.remove_suffix(3);
  const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
  if (found == kFunctions.end()) in.refuse("this function is not executed");
  op.kind2 = static_cast<std::uint8_t>(found - kFunctions.begin());
  op.run = is_fp64 ? run_mufu64 : run_mufu;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"FFMA", decode_arithmetic<Reads::fp32, run_ffma>},
    {"FADD", decode_arithmetic<Reads::fp32, run_fadd>},
    {"FMUL", decode_arithmetic<Reads::fp32, run_fmul>},
    {"FMNMX", decode_fmnmx},
    {"FSETP", decode_fsetp},
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
