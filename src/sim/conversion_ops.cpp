#include "sim/float_values.hpp"
#include "sim/opcodes.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Half = Operand::Half;

enum class Type : std::uint8_t { s8, u8, s16, u16, s32, u32, s64, u64, f16, bf16, f32, f64 };

constexpr std::array<std::pair<std::string_view, Type>, 12> kTypes{{{"S8", Type::s8},
                                                                    {"U8", Type::u8},
                                                                    {"S16", Type::s16},
                                                                    {"U16", Type::u16},
                                                                    {"S32", Type::s32},
                                                                    {"U32", Type::u32},
                                                                    {"S64", Type::s64},
                                                                    {"U64", Type::u64},
                                                                    {"F16", Type::f16},
                                                                    {"BF16", Type::bf16},
                                                                    {"F32", Type::f32},
                                                                    {"F64", Type::f64}}};

std::optional<Type> type_named(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

bool is_integer(Type type) {
  return type <= Type::u64;
}
bool is_wide(Type type) {
  return type == Type::s64 || type == Type::u64 || type == Type::f64;
}

/// Flags in Op::value.
constexpr std::uint32_t kNanToZero = 1;
constexpr std::uint32_t kFlushes = 2;  ///< subnormal fp32 operands and results become 0

unsigned first_bit(Half half) {
  switch (half) {
    case Half::high: return 16;
    case Half::byte1: return 8;
    case Half::byte2: return 16;
    case Half::byte3: return 24;
    default: return 0;
  }
}

void read_typed(const Warp& warp, const Source& source, Type type, Lanes64& bits) {
  if (is_wide(type)) return read_pair(warp, source, bits);
  Lanes32 scratch;
  const Lanes32& raw = read_raw(warp, source, scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint32_t one = raw[l] >> first_bit(source.half);
    switch (type) {
      case Type::s8: bits[l] = static_cast<std::uint64_t>(static_cast<std::int8_t>(one)); break;
      case Type::u8: bits[l] = one & 0xff; break;
      case Type::s16: bits[l] = static_cast<std::uint64_t>(static_cast<std::int16_t>(one)); break;
      case Type::u16: bits[l] = one & 0xffff; break;
      case Type::s32: bits[l] = static_cast<std::uint64_t>(static_cast<std::int32_t>(one)); break;
      default: bits[l] = one;
    }
  }
}

void write_typed(Warp& warp, const Source& to, Type type, LaneMask lanes, const Lanes64& bits) {
  if (is_wide(type)) return write_pair(warp, to, lanes, bits);
  Lanes32 low;
  for (unsigned l = 0; l < kLanes; ++l)
    low[l] = static_cast<std::uint32_t>(bits[l]);
  write(warp, to, lanes, low);
}

double as_double(std::uint64_t bits, Type type, const Op& op) {
  const auto low = static_cast<std::uint32_t>(bits);
  double x = type == Type::f64    ? std::bit_cast<double>(bits)
             : type == Type::f16  ? value_of<kFp16>(low)
             : type == Type::bf16 ? value_of<kBf16>(low)
                                  : std::bit_cast<float>(low);
  if (type == Type::f32 && op.value & kFlushes) x = flushed(static_cast<float>(x));
  if (op.from[0].absolute) x = std::fabs(x);
  return op.from[0].negated ? -x : x;
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

/// Saturates to the range of T. NaN becomes 0 with `nan_to_zero`; otherwise it becomes the value
/// whose only set bit is the highest (PTX ISA, cvt).
template <class T>
std::uint64_t saturated(double x, bool nan_to_zero) {
  if (std::isnan(x)) return nan_to_zero ? 0 : std::uint64_t{1} << (8 * sizeof(T) - 1);
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (x >= limit) return static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (x < static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<std::uint64_t>(std::numeric_limits<T>::min());
  return static_cast<std::uint64_t>(static_cast<T>(x));
}

std::uint64_t to_integer(double x, Type type, bool nan_to_zero) {
  switch (type) {
    case Type::s8: return saturated<std::int8_t>(x, nan_to_zero);
    case Type::u8: return saturated<std::uint8_t>(x, nan_to_zero);
    case Type::s16: return saturated<std::int16_t>(x, nan_to_zero);
    case Type::u16: return saturated<std::uint16_t>(x, nan_to_zero);
    case Type::s32: return saturated<std::int32_t>(x, nan_to_zero);
    case Type::u32: return saturated<std::uint32_t>(x, nan_to_zero);
    case Type::s64: return saturated<std::int64_t>(x, nan_to_zero);
    default: return saturated<std::uint64_t>(x, nan_to_zero);
  }
}

/// Rounds a value. `x` must be exact, or rounded to odd.
std::uint64_t float_bits(double x, Type type, const Op& op) {
  const auto rounding = static_cast<Rounding>(op.kind2);
  if (type == Type::f64) return std::isnan(x) ? kNan64 : std::bit_cast<std::uint64_t>(x);
  if (type == Type::f16) return round_to<kFp16>(x, rounding);
  if (type == Type::bf16) return round_to<kBf16>(x, rounding);
  if (std::isnan(x)) return kNan32;
  const auto bits = round_to<kFp32>(x, rounding);
  return op.value & kFlushes ? std::bit_cast<std::uint32_t>(flushed(std::bit_cast<float>(bits)))
                             : bits;
}

Type source_type(const Op& op) {
  return static_cast<Type>(op.kind >> 4);
}
Type result_type(const Op& op) {
  return static_cast<Type>(op.kind & 15);
}

template <class Convert>
void convert_lanes(Warp& warp, const Op& op, LaneMask lanes, const Convert& convert) {
  Lanes64 bits;
  read_typed(warp, op.from[0], source_type(op), bits);
  for (unsigned l = 0; l < kLanes; ++l)
    bits[l] = convert(bits[l]);
  write_typed(warp, op.to[0], result_type(op), lanes, bits);
}

void run_f2i(Warp& warp, const Op& op, LaneMask lanes) {
  convert_lanes(warp, op, lanes, [&](std::uint64_t bits) {
    const double x = as_double(bits, source_type(op), op);
    return to_integer(rounded(x, static_cast<Rounding>(op.kind2)), result_type(op),
                      (op.value & kNanToZero) != 0);
  });
}

void run_frnd(Warp& warp, const Op& op, LaneMask lanes) {
  convert_lanes(warp, op, lanes, [&](std::uint64_t bits) {
    const double x = as_double(bits, source_type(op), op);
    if (result_type(op) == Type::f64 && std::isnan(x)) return bits | kQuiet64;
    return float_bits(rounded(x, static_cast<Rounding>(op.kind2)), result_type(op), op);
  });
}

/// The value in fp64: exact, or rounded to odd, so that it can be rounded once more.
double double_rounded_to_odd(std::uint64_t magnitude) {
  constexpr int kSpare = 11;  // bits of 64 that exceed the significand of fp64
  const int shift = std::max(0, kSpare - std::countl_zero(magnitude));
  const std::uint64_t lost = magnitude & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t kept = magnitude >> shift | (lost != 0 ? 1 : 0);
  return std::ldexp(static_cast<double>(kept), shift);
}

template <class Integer>
double rounded_double(Integer value, Rounding rounding) {
  const RoundingScope scope(rounding);
  return static_cast<double>(value);
}

void run_i2f(Warp& warp, const Op& op, LaneMask lanes) {
  const Type from = source_type(op);
  const auto rounding = static_cast<Rounding>(op.kind2);
  const bool is_signed =
      from == Type::s8 || from == Type::s16 || from == Type::s32 || from == Type::s64;
  convert_lanes(warp, op, lanes, [&](std::uint64_t bits) -> std::uint64_t {
    if (op.from[0].negated) bits = 0 - bits;
    const bool is_negative = is_signed && bits >> 63 != 0;
    if (result_type(op) == Type::f64) {
      const double x = is_signed ? rounded_double(static_cast<std::int64_t>(bits), rounding)
                                 : rounded_double(bits, rounding);
      return std::bit_cast<std::uint64_t>(x);
    }
    const double magnitude = double_rounded_to_odd(is_negative ? 0 - bits : bits);
    return float_bits(is_negative ? -magnitude : magnitude, result_type(op), op);
  });
}

// A NaN converted to or from fp64 keeps its sign and upper fraction bits, and becomes a quiet NaN.
std::uint64_t nan_bits(std::uint64_t bits, Type from, Type to) {
  const auto fraction = [](Type type) {
    return type == Type::f64 ? 52 : type == Type::f32 ? 23 : type == Type::f16 ? 10 : 7;
  };
  const auto sign = [](Type type) { return type == Type::f64 ? 63 : type == Type::f32 ? 31 : 15; };
  const std::uint64_t payload = bits << (64 - fraction(from));
  const std::uint64_t exponent = (std::uint64_t{1} << (sign(to) - fraction(to))) - 1;
  return (bits >> sign(from) & 1) << sign(to) | exponent << fraction(to) |
         (payload | std::uint64_t{1} << 63) >> (64 - fraction(to));
}

void run_f2f(Warp& warp, const Op& op, LaneMask lanes) {
  const bool is_wide = source_type(op) == Type::f64 || result_type(op) == Type::f64;
  convert_lanes(warp, op, lanes, [&](std::uint64_t bits) {
    if (is_wide && std::isnan(as_double(bits, source_type(op), op)))
      return nan_bits(bits, source_type(op), result_type(op));
    return float_bits(as_double(bits, source_type(op), op), result_type(op), op);
  });
}

/// Decodes the types that the modifiers name. If both types are integers or both are
/// floating-point, the first name is the destination's type.
template <Type default_to, Type default_from, Op::Run run>
void decode_conversion(const Decoding& in, Op& op) {
  Type to = default_to;
  Type from = default_from;
  std::vector<Type> named;
  for (const std::string_view modifier : in.modifiers) {
    if (const auto type = type_named(modifier)) {
      named.push_back(*type);
    } else if (modifier == "SAT") {
      in.refuse("this form is not executed");
    }
  }
  if (named.size() > 2) in.refuse("its types are not understood");
  if (is_integer(to) == is_integer(from)) {
    if (!named.empty()) to = named.front();
    from = named.size() == 2 ? named[1] : named.empty() ? from : is_integer(to) ? from : to;
  } else {
    for (const Type type : named)
      (is_integer(type) == is_integer(to) ? to : from) = type;
  }
  in.refuse_operands_if(in.operands.size() != 2);
  place_float(in, op, from == Type::f64 ? Reads::fp64 : Reads::fp32);
  op.kind = static_cast<std::uint8_t>(static_cast<unsigned>(from) << 4 | static_cast<unsigned>(to));
  op.value = (in.has("NTZ") ? kNanToZero : 0) | (in.has("FTZ") ? kFlushes : 0);
  op.run = run;
}

// ---- packed values

constexpr std::uint8_t kRelu = 4;

GPUEXP_INLINED std::uint32_t packed(double x, Type type, Rounding rounding, bool relu) {
  if (relu && x <= 0) x = 0;  // -0 as well
  switch (type) {
    case Type::bf16: return round_to<kBf16>(x, rounding);
    case Type::f16: return round_to<kFp16>(x, rounding);
    default: return round_to<kTf32>(x, rounding) << 13;
  }
}

// F2FP: converts one fp32 value, or converts two and packs them, with the first in the upper half.
template <Type type, bool is_pair>
void run_pack(Warp& warp, const Op& op, LaneMask lanes) {
  const auto rounding = static_cast<Rounding>(op.kind2);
  const auto bits = [&](std::uint32_t of) {
    return packed(std::bit_cast<float>(of), type, rounding, op.kind & kRelu);
  };
  write_each<read_float_bits>(warp, op, lanes, [&](std::uint32_t a, std::uint32_t b) {
    return is_pair ? bits(a) << 16 | bits(b) : bits(a);
  });
}

GPUEXP_INLINED std::uint32_t byte_of(double x, bool is_e4m3, bool relu) {
  if (relu && x <= 0) x = 0;
  return is_e4m3 ? round_to_e4m3(x) : round_to_e5m2(x);
}

// Converts two fp32 values to fp8 in the lower half of the result, the first in the upper byte. The
// upper half of the result is the lower half of C.
template <bool is_e4m3>
void run_pack_fp8(Warp& warp, const Op& op, LaneMask lanes) {
  const auto byte = [&](std::uint32_t bits) {
    return byte_of(std::bit_cast<float>(bits), is_e4m3, op.kind & kRelu);
  };
  write_each<read_float_bits>(warp, op, lanes,
                              [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
                                return c << 16 | byte(a) << 8 | byte(b);
                              });
}

// Converts a pair of fp16 values to fp8 in the layout of run_pack_fp8().
template <bool is_e4m3>
void run_narrow_fp8(Warp& warp, const Op& op, LaneMask lanes) {
  const auto byte = [&](std::uint32_t half) {
    return byte_of(value_of<kFp16>(half), is_e4m3, op.kind & kRelu);
  };
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t pair, std::uint32_t c) {
    return c << 16 | byte(pair >> 16) << 8 | byte(pair);
  });
}

template <bool is_e4m3>
void run_widen_fp8(Warp& warp, const Op& op, LaneMask lanes) {
  const auto bits = [&](std::uint32_t byte) {
    const double x = is_e4m3 ? value_of_e4m3(byte) : value_of<kE5m2>(byte);
    return packed(x, Type::f16, Rounding::nearest, op.kind & kRelu);
  };
  const unsigned shift = first_bit(op.from[0].half);
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t b) {
    return bits(b >> shift & 0xff) | bits(b >> shift >> 8 & 0xff) << 16;
  });
}

Op::Run pack_of(const Decoding& in) {
  const bool is_e4m3 = in.has("E4M3");
  const bool is_fp8 = is_e4m3 || in.has("E5M2");
  const auto is = [&](std::string_view form, std::string_view source, std::size_t operands) {
    return in.has(form) && in.has(source) && in.operands.size() == operands;
  };
  if (is_fp8 && in.has("SATFINITE") && is("PACK_AB_MERGE_C", "F32", 4))
    return is_e4m3 ? run_pack_fp8<true> : run_pack_fp8<false>;
  if (is_fp8 && in.has("SATFINITE") && is("UNPACK_B_MERGE_C", "F16", 3))
    return is_e4m3 ? run_narrow_fp8<true> : run_narrow_fp8<false>;
  if (is_fp8 && is("UNPACK_B", "F16", 2))
    return is_e4m3 ? run_widen_fp8<true> : run_widen_fp8<false>;
  if (is_fp8 || in.has("SATFINITE")) return nullptr;
  // Code before sm_90 has neither F32 nor F16: only PACK_AB, or BF16.PACK_AB.
  const bool is_short = !in.has("F32") && in.modifiers.size() == (in.has("BF16") ? 2u : 1u);
  if (is_short && in.has("PACK_AB") && in.operands.size() == 3)
    return in.has("BF16") ? run_pack<Type::bf16, true> : run_pack<Type::f16, true>;
  if (is("PACK_AB", "F32", 3) && in.has("BF16")) return run_pack<Type::bf16, true>;
  if (is("PACK_AB", "F32", 3) && in.has("F16")) return run_pack<Type::f16, true>;
  if (is("PACK_B", "F32", 2) && in.has("TF32")) return run_pack<Type::f32, false>;
  const bool has_c = in.operands.size() == 3 && in.operands[2].index != kZeroRegister;
  if (is("MERGE_C", "F32", 3) && in.has("BF16") && !has_c) return run_pack<Type::bf16, false>;
  if (is("MERGE_C", "F32", 3) && in.has("F16") && !has_c) return run_pack<Type::f16, false>;
  return nullptr;
}

void decode_f2fp(const Decoding& in, Op& op) {
  op.run = pack_of(in);
  in.refuse_form_if(!op.run);
  place_float(in, op, Reads::fp32);
  op.kind = in.has("RELU") ? kRelu : 0;
}

// ---- narrow integers

std::int64_t limited(std::int64_t x, Type type) {
  switch (type) {
    case Type::s8: return std::clamp<std::int64_t>(x, -128, 127);
    case Type::u8: return std::clamp<std::int64_t>(x, 0, 255);
    case Type::s16: return std::clamp<std::int64_t>(x, -32768, 32767);
    default: return std::clamp<std::int64_t>(x, 0, 65535);
  }
}

// I2I.S16.S32.SAT R0, R1
void run_i2i(Warp& warp, const Op& op, LaneMask lanes) {
  convert_lanes(warp, op, lanes, [&](std::uint64_t bits) {
    return static_cast<std::uint64_t>(limited(static_cast<std::int64_t>(bits), result_type(op)));
  });
}

void decode_i2i(const Decoding& in, Op& op) {
  const auto to = in.modifiers.empty() ? std::nullopt : type_named(in.modifiers[0]);
  in.refuse_form_if(in.modifiers.size() != 3 || !to || *to > Type::u16 ||
                    in.modifiers[1] != "S32" || !in.has("SAT") || in.operands.size() != 2);
  place(in, op);
  op.kind =
      static_cast<std::uint8_t>(static_cast<unsigned>(Type::s32) << 4 | static_cast<unsigned>(*to));
  op.run = run_i2i;
}

// I2IP and F2IP pack two 16-bit values, or two bytes and, above them, the lower half of C.
template <class Value>
void run_join(Warp& warp, const Op& op, LaneMask lanes, const Value& value) {
  const bool is_byte = result_type(op) <= Type::u8;
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t low = value(b, op.from[1]);
    const std::uint32_t high = value(a, op.from[0]);
    return is_byte ? c << 16 | (high & 0xff) << 8 | (low & 0xff) : high << 16 | (low & 0xffff);
  });
}

void run_i2ip(Warp& warp, const Op& op, LaneMask lanes) {
  run_join(warp, op, lanes, [&](std::uint32_t bits, const Source& source) {
    const std::int64_t x = static_cast<std::int32_t>(bits);
    return static_cast<std::uint32_t>(limited(source.negated ? -x : x, result_type(op)));
  });
}

void run_f2ip(Warp& warp, const Op& op, LaneMask lanes) {
  run_join(warp, op, lanes, [&](std::uint32_t bits, const Source& source) {
    double x = std::bit_cast<float>(bits);
    if (op.value & kFlushes) x = flushed(static_cast<float>(x));
    if (source.absolute) x = std::fabs(x);
    if (source.negated) x = -x;
    return static_cast<std::uint32_t>(to_integer(rounded(x, static_cast<Rounding>(op.kind2)),
                                                 result_type(op), (op.value & kNanToZero) != 0));
  });
}

// I2IP.S8.S32.SAT R0, R1, R2, R3 and F2IP.U8.F32.NTZ R0, R1, R2, R3
template <Op::Run run>
void decode_join(const Decoding& in, Op& op) {
  const auto to = in.modifiers.empty() ? std::nullopt : type_named(in.modifiers[0]);
  const bool is_known = in.has("SAT") ? in.has("S32") : in.has("F32") && in.has("NTZ");
  in.refuse_form_if(!to || *to > Type::u16 || !is_known || in.operands.size() != 4);
  place_float(in, op, Reads::fp32);
  op.kind = static_cast<std::uint8_t>(*to);
  op.value = (in.has("NTZ") ? kNanToZero : 0) | (in.has("FTZ") ? kFlushes : 0);
  op.run = run;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"F2I", decode_conversion<Type::s32, Type::f32, run_f2i>},
    {"UF2I", decode_conversion<Type::s32, Type::f32, run_f2i>},
    {"I2F", decode_conversion<Type::f32, Type::s32, run_i2f>},
    {"UI2F", decode_conversion<Type::f32, Type::s32, run_i2f>},
    {"I2FP", decode_conversion<Type::f32, Type::s32, run_i2f>},
    {"UI2FP", decode_conversion<Type::f32, Type::s32, run_i2f>},
    {"F2F", decode_conversion<Type::f32, Type::f32, run_f2f>},
    {"FRND", decode_conversion<Type::f32, Type::f32, run_frnd>},
    {"F2FP", decode_f2fp},
    {"I2I", decode_i2i},
    {"I2IP", decode_join<run_i2ip>},
    {"F2IP", decode_join<run_f2ip>},
};

}  // namespace

std::span<const OpcodeDecoder> conversion_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
