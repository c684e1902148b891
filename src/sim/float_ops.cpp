#include "sim/float_ops.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <limits>

#include "sim/registers.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;
using Half = Operand::Half;

// What arithmetic makes of NaN, whatever NaN went in (PTX ISA, "Floating Point Instructions").
constexpr std::uint32_t kNan32 = 0x7fffffff;
constexpr std::uint64_t kNan64 = 0xfff8000000000000;

constexpr std::uint8_t kFtz = 1;
constexpr std::uint8_t kSaturate = 2;

enum class Rounding : std::uint8_t { nearest, down, up, zero };

Rounding rounding_of(const Decoding& in) {
  return in.has("RM") || in.has("FLOOR")   ? Rounding::down
         : in.has("RP") || in.has("CEIL")  ? Rounding::up
         : in.has("RZ") || in.has("TRUNC") ? Rounding::zero
                                           : Rounding::nearest;
}

/// The host's rounding, while it lives.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) {
    constexpr std::array kModes{FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(kModes[static_cast<std::size_t>(rounding)]);
  }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

void place(const Decoding& in, Op& op, Reads reads) {
  if (in.operands.empty() || in.operands.size() > 1 + op.from.size())
    in.refuse("its operands are not understood");
  op.to[0] = source_of(in.operands[0], reads);
  for (std::size_t i = 1; i < in.operands.size(); ++i)
    op.from[i - 1] = source_of(in.operands[i], reads);
  op.kind = static_cast<std::uint8_t>((in.has("FTZ") ? kFtz : 0) | (in.has("SAT") ? kSaturate : 0));
  op.kind2 = static_cast<std::uint8_t>(rounding_of(in));
}

// ---- fp32

GPUEXP_INLINED float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

GPUEXP_INLINED std::uint32_t finished(float x, std::uint8_t kind) {
  if (kind & kFtz) x = flushed(x);
  if (kind & kSaturate) x = x > 0 ? std::min(x, 1.0f) : 0.0f;  // NaN becomes 0
  return std::isnan(x) ? kNan32 : std::bit_cast<std::uint32_t>(x);
}

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

GPUEXP_VECTORIZED void run_ffma(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, [](float a, float b, float c) { return std::fma(a, b, c); });
}
GPUEXP_VECTORIZED void run_fadd(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, [](float a, float b, float) { return a + b; });
}
GPUEXP_VECTORIZED void run_fmul(Warp& warp, const Op& op, LaneMask lanes) {
  each(warp, op, lanes, [](float a, float b, float) { return a * b; });
}

template <Op::Run nearest>
void run_rounded(Warp& warp, const Op& op, LaneMask lanes) {
  const RoundingScope scope(static_cast<Rounding>(op.kind2));
  nearest(warp, op, lanes);
}

template <Op::Run nearest>
void decode_float(const Decoding& in, Op& op) {
  place(in, op, Reads::fp32);
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
  place(in, op, Reads::fp32);
  op.run = run_fmnmx;
}

GPUEXP_VECTORIZED void run_fsel(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const LaneMask first = read_predicate(warp, op.from[2]);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = first >> l & 1 ? a[l] : b[l];
  write(warp, op.to[0], lanes, result);
}

void decode_fsel(const Decoding& in, Op& op) {
  place(in, op, Reads::fp32);
  op.run = run_fsel;
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

LaneMask combined(std::uint32_t how, LaneMask a, LaneMask b) {
  return how == 0 ? a & b : how == 1 ? a | b : a ^ b;
}

void set_predicates(Warp& warp, const Op& op, LaneMask lanes, LaneMask result) {
  const LaneMask with = read_predicate(warp, op.from[2]);
  write_predicate(warp, op.to[0], lanes, combined(op.value, result, with));
  write_predicate(warp, op.to[1], lanes, combined(op.value, ~result, with));
}

GPUEXP_VECTORIZED void run_fsetp(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  LaneMask result = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    result |= LaneMask{compare(op.kind2, operand(a[l], op.kind), operand(b[l], op.kind))} << l;
  set_predicates(warp, op, lanes, result);
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
  op.value = in.has("AND") ? 0 : in.has("OR") ? 1 : 2;
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

GPUEXP_VECTORIZED void run_fchk(Warp& warp, const Op& op, LaneMask lanes) {
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
  place(in, op, Reads::fp32);
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
  each_double(warp, op, lanes, [](double a, double b, double c) { return std::fma(a, b, c); });
}
GPUEXP_VECTORIZED void run_dadd(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, [](double a, double b, double) { return a + b; });
}
GPUEXP_VECTORIZED void run_dmul(Warp& warp, const Op& op, LaneMask lanes) {
  each_double(warp, op, lanes, [](double a, double b, double) { return a * b; });
}

template <Op::Run nearest>
void decode_double(const Decoding& in, Op& op) {
  place(in, op, Reads::fp64);
  op.run = op.kind2 == 0 ? nearest : run_rounded<nearest>;
}

constexpr std::uint8_t kLeast = 1;

// DSETP.MAX and MIN: whether the first is the result, which it is where only the second is NaN; and
// whether both are NaN, for which the code after it makes one.
GPUEXP_VECTORIZED void run_dsetp_most(Warp& warp, const Op& op, LaneMask lanes) {
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
  set_predicates(warp, op, lanes, result);
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

// ---- conversions

enum class Type : std::uint8_t { s32, u32, s64, u64, f16, f32, f64 };

bool is_wide(Type type) {
  return type == Type::s64 || type == Type::u64 || type == Type::f64;
}

/// Values of any of the types, as bits.
void read_typed(const Warp& warp, const Source& source, Type type, Lanes64& bits) {
  if (is_wide(type)) {
    read_pair(warp, source, bits);
  } else {
    Lanes32 scratch;
    const Lanes32& raw = read_raw(warp, source, scratch);
    for (unsigned l = 0; l < kLanes; ++l)
      bits[l] = source.half == Half::high ? raw[l] >> 16 : raw[l];
  }
}

void write_typed(Warp& warp, const Source& to, Type type, LaneMask lanes, const Lanes64& bits) {
  if (is_wide(type)) return write_pair(warp, to, lanes, bits);
  Lanes32 low;
  for (unsigned l = 0; l < kLanes; ++l)
    low[l] = static_cast<std::uint32_t>(bits[l]);
  write(warp, to, lanes, low);
}

double as_double(std::uint64_t bits, Type type, const Source& source) {
  double x = type == Type::f64   ? std::bit_cast<double>(bits)
             : type == Type::f16 ? value_of<kFp16>(static_cast<std::uint32_t>(bits))
                                 : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (source.absolute) x = std::fabs(x);
  return source.negated ? -x : x;
}

GPUEXP_INLINED double rounded(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::down: return std::floor(x);
    case Rounding::up: return std::ceil(x);
    case Rounding::zero: return std::trunc(x);
    case Rounding::nearest: return std::nearbyint(x);
  }
  return x;
}

/// Beyond the range the nearest of the range; NaN is 0 with `nan_to_zero`, else the highest bit
/// alone (PTX ISA, cvt).
template <class T>
std::uint64_t saturated(double x, bool nan_to_zero) {
  if (std::isnan(x)) return nan_to_zero ? 0 : std::uint64_t{1} << (8 * sizeof(T) - 1);
  const double most = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (x >= most) return static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (x < static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<std::uint64_t>(std::numeric_limits<T>::min());
  return static_cast<std::uint64_t>(static_cast<T>(x));
}

std::uint64_t to_integer(double x, Type type, bool nan_to_zero) {
  switch (type) {
    case Type::s32: return saturated<std::int32_t>(x, nan_to_zero);
    case Type::u32: return saturated<std::uint32_t>(x, nan_to_zero);
    case Type::s64: return saturated<std::int64_t>(x, nan_to_zero);
    default: return saturated<std::uint64_t>(x, nan_to_zero);
  }
}

std::uint64_t float_bits(double x, Type type) {
  if (type == Type::f64) return std::isnan(x) ? kNan64 : std::bit_cast<std::uint64_t>(x);
  if (type == Type::f16) return round_to<kFp16>(x);
  const auto narrow = static_cast<float>(x);
  return std::isnan(x) ? kNan32 : std::bit_cast<std::uint32_t>(narrow);
}

GPUEXP_VECTORIZED void run_f2i(Warp& warp, const Op& op, LaneMask lanes) {
  const auto from = static_cast<Type>(op.kind >> 4);
  const auto to = static_cast<Type>(op.kind & 15);
  Lanes64 bits;
  read_typed(warp, op.from[0], from, bits);
  for (unsigned l = 0; l < kLanes; ++l) {
    const double x = as_double(bits[l], from, op.from[0]);
    bits[l] = to_integer(rounded(x, static_cast<Rounding>(op.kind2)), to, op.value != 0);
  }
  write_typed(warp, op.to[0], to, lanes, bits);
}

GPUEXP_VECTORIZED void run_frnd(Warp& warp, const Op& op, LaneMask lanes) {
  const auto type = static_cast<Type>(op.kind & 15);
  Lanes64 bits;
  read_typed(warp, op.from[0], type, bits);
  for (unsigned l = 0; l < kLanes; ++l)
    bits[l] = float_bits(
        rounded(as_double(bits[l], type, op.from[0]), static_cast<Rounding>(op.kind2)), type);
  write_typed(warp, op.to[0], type, lanes, bits);
}

template <class Integer>
double converted(Integer value, Type to) {
  // From 64 bits to fp32 in one step, so that it is rounded once.
  return to == Type::f64 ? static_cast<double>(value)
                         : static_cast<double>(static_cast<float>(value));
}

GPUEXP_VECTORIZED void run_i2f(Warp& warp, const Op& op, LaneMask lanes) {
  const RoundingScope scope(static_cast<Rounding>(op.kind2));
  const auto from = static_cast<Type>(op.kind >> 4);
  const auto to = static_cast<Type>(op.kind & 15);
  Lanes64 bits;
  read_typed(warp, op.from[0], from, bits);
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint64_t raw = op.from[0].negated ? 0u - bits[l] : bits[l];
    const double x = from == Type::s32   ? converted(static_cast<std::int32_t>(raw), to)
                     : from == Type::u32 ? converted(static_cast<std::uint32_t>(raw), to)
                     : from == Type::s64 ? converted(static_cast<std::int64_t>(raw), to)
                                         : converted(raw, to);
    bits[l] = float_bits(x, to);
  }
  write_typed(warp, op.to[0], to, lanes, bits);
}

GPUEXP_VECTORIZED void run_f2f(Warp& warp, const Op& op, LaneMask lanes) {
  const RoundingScope scope(static_cast<Rounding>(op.kind2));
  const auto from = static_cast<Type>(op.kind >> 4);
  const auto to = static_cast<Type>(op.kind & 15);
  Lanes64 bits;
  read_typed(warp, op.from[0], from, bits);
  for (unsigned l = 0; l < kLanes; ++l)
    bits[l] = float_bits(as_double(bits[l], from, op.from[0]), to);
  write_typed(warp, op.to[0], to, lanes, bits);
}

std::optional<Type> type_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Type>, 7> kTypes{{{"S32", Type::s32},
                                                                     {"U32", Type::u32},
                                                                     {"S64", Type::s64},
                                                                     {"U64", Type::u64},
                                                                     {"F16", Type::f16},
                                                                     {"F32", Type::f32},
                                                                     {"F64", Type::f64}}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

bool is_integer(Type type) {
  return type <= Type::u64;
}

/// The types that the modifiers name; of two of a kind, the first is the destination's.
void decode_conversion(const Decoding& in, Op& op, Type to, Type from, Op::Run run) {
  std::vector<Type> named;
  for (const std::string_view modifier : in.modifiers) {
    if (const auto type = type_named(modifier)) named.push_back(*type);
  }
  if (named.size() > 2) in.refuse("its types are not understood");
  if (is_integer(to) == is_integer(from)) {
    if (!named.empty()) to = named.front();
    from = named.size() == 2 ? named[1] : named.empty() ? from : is_integer(to) ? from : to;
  } else {
    for (const Type type : named)
      (is_integer(type) == is_integer(to) ? to : from) = type;
  }
  if (in.operands.size() != 2) in.refuse("its operands are not understood");
  place(in, op, from == Type::f64 ? Reads::fp64 : Reads::fp32);
  op.kind = static_cast<std::uint8_t>(static_cast<unsigned>(from) << 4 | static_cast<unsigned>(to));
  op.run = run;
}

void decode_f2i(const Decoding& in, Op& op) {
  decode_conversion(in, op, Type::s32, Type::f32, run_f2i);
  op.value = in.has("NTZ");
}
void decode_i2f(const Decoding& in, Op& op) {
  decode_conversion(in, op, Type::f32, Type::s32, run_i2f);
}
void decode_f2f(const Decoding& in, Op& op) {
  decode_conversion(in, op, Type::f32, Type::f32, run_f2f);
}
void decode_frnd(const Decoding& in, Op& op) {
  decode_conversion(in, op, Type::f32, Type::f32, run_frnd);
}

// F2FP: two fp32 values as a pair of a smaller type, the first in the upper half.
template <SmallFloat format>
void run_pack(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = round_to<format>(std::bit_cast<float>(a[l])) << 16 |
                round_to<format>(std::bit_cast<float>(b[l]));
  write(warp, op.to[0], lanes, result);
}

// Two fp32 values as fp8 (e4m3) in the lower half, the first above the second; beyond the range the
// largest number. The upper half is that of C.
void run_pack_e4m3(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], sa);
  const Lanes32& b = read_float_bits(warp, op.from[1], sb);
  const Lanes32& c = read_raw(warp, op.from[2], sc);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = c[l] << 16 | round_to_e4m3(std::bit_cast<float>(a[l])) << 8 |
                round_to_e4m3(std::bit_cast<float>(b[l]));
  write(warp, op.to[0], lanes, result);
}

void decode_f2fp(const Decoding& in, Op& op) {
  if (in.has("E4M3") && in.has("F32") && in.has("SATFINITE") && in.has("PACK_AB_MERGE_C") &&
      in.operands.size() == 4) {
    place(in, op, Reads::fp32);
    op.run = run_pack_e4m3;
    return;
  }
  if (in.modifiers.size() != 3 || !in.has("F32") || !in.has("PACK_AB") || in.operands.size() != 3)
    in.refuse("this form is not executed");
  place(in, op, Reads::fp32);
  if (in.has("BF16")) {
    op.run = run_pack<kBf16>;
  } else if (in.has("F16")) {
    op.run = run_pack<kFp16>;
  } else {
    in.refuse("this form is not executed");
  }
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

GPUEXP_VECTORIZED void run_mufu(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_float_bits(warp, op.from[0], scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    const float x = flushed(std::bit_cast<float>(a[l]));
    result[l] = finished(static_cast<float>(value_at(static_cast<Function>(op.kind2), x)), kFtz);
  }
  write(warp, op.to[0], lanes, result);
}

// Of the upper word of an fp64 value, that of the result.
GPUEXP_VECTORIZED void run_mufu64(Warp& warp, const Op& op, LaneMask lanes) {
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
  place(in, op, Reads::fp32);
  std::string_view name = in.modifiers.front();
  const bool is_fp64 = name.ends_with("64H");
  if (is_fp64) name.remove_suffix(3);
  const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
  if (found == kFunctions.end()) in.refuse("this function is not executed");
  op.kind2 = static_cast<std::uint8_t>(found - kFunctions.begin());
  op.run = is_fp64 ? run_mufu64 : run_mufu;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"FFMA", decode_float<run_ffma>},
    {"FADD", decode_float<run_fadd>},
    {"FMUL", decode_float<run_fmul>},
    {"FMNMX", decode_fmnmx},
    {"FSEL", decode_fsel},
    {"FSETP", decode_fsetp},
    {"DFMA", decode_double<run_dfma>},
    {"DADD", decode_double<run_dadd>},
    {"DMUL", decode_double<run_dmul>},
    {"DSETP", decode_dsetp},
    {"FCHK", decode_fchk},
    {"F2I", decode_f2i},
    {"I2F", decode_i2f},
    {"I2FP", decode_i2f},
    {"F2F", decode_f2f},
    {"FRND", decode_frnd},
    {"F2FP", decode_f2fp},
    {"MUFU", decode_mufu},
};

}  // namespace

std::span<const OpcodeDecoder> float_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
