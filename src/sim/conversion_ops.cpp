#include "sim/conversion_ops.hpp"

#include "sim/float_values.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Half = Operand::Half;

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

void run_f2i(Warp& warp, const Op& op, LaneMask lanes) {
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

void run_frnd(Warp& warp, const Op& op, LaneMask lanes) {
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

void run_i2f(Warp& warp, const Op& op, LaneMask lanes) {
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

void run_f2f(Warp& warp, const Op& op, LaneMask lanes) {
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
  place_float(in, op, from == Type::f64 ? Reads::fp64 : Reads::fp32);
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
    place_float(in, op, Reads::fp32);
    op.run = run_pack_e4m3;
    return;
  }
  // Code before sm_90 has no F32, and no F16: PACK_AB alone, or BF16.PACK_AB.
  const bool is_short = !in.has("F32") && in.modifiers.size() == (in.has("BF16") ? 2u : 1u);
  if ((in.modifiers.size() != 3 && !is_short) || !in.has("PACK_AB") || in.operands.size() != 3)
    in.refuse("this form is not executed");
  place_float(in, op, Reads::fp32);
  if (in.has("BF16")) {
    op.run = run_pack<kBf16>;
  } else if (in.has("F16") || is_short) {
    op.run = run_pack<kFp16>;
  } else {
    in.refuse("this form is not executed");
  }
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"F2I", decode_f2i}, {"I2F", decode_i2f},   {"I2FP", decode_i2f},
    {"F2F", decode_f2f}, {"FRND", decode_frnd}, {"F2FP", decode_f2fp},
};

}  // namespace

std::span<const OpcodeDecoder> conversion_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
