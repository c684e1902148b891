#include <algorithm>
#include <bit>

#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

/// A function of up to three values per lane. op.kind holds the decoded modifiers.
using Function = std::uint32_t (*)(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t c);

template <Function function>
void run_function(Warp& warp, const Op& op, LaneMask lanes) {
  write_each(warp, op, lanes, [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return function(op, a, b, c);
  });
}

void place(const Decoding& in, Op& op, std::size_t sources) {
  in.refuse_operands_if(in.operands.size() != sources + 1);
  place(in, op);
}

// ---- bits

std::uint32_t count_ones(const Op&, std::uint32_t a, std::uint32_t, std::uint32_t) {
  return static_cast<std::uint32_t>(std::popcount(a));
}

std::uint32_t reversed(const Op&, std::uint32_t a, std::uint32_t, std::uint32_t) {
  std::uint32_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit)
    result |= (a >> bit & 1) << (31 - bit);
  return result;
}

std::uint32_t magnitude(const Op&, std::uint32_t a, std::uint32_t, std::uint32_t) {
  return static_cast<std::int32_t>(a) < 0 ? 0u - a : a;
}

constexpr std::uint8_t kUnsigned = 1;
constexpr std::uint8_t kWraps = 2;
constexpr std::uint8_t kFromTop = 4;

// FLO: index of the highest set bit (signed: of the highest bit that differs from the sign) or,
// with SH, its distance from bit 31; ~0 if there is none.
std::uint32_t highest_bit(const Op& op, std::uint32_t a, std::uint32_t, std::uint32_t) {
  if (!(op.kind & kUnsigned) && a >> 31 != 0) a = ~a;
  const auto from_top = static_cast<std::uint32_t>(std::countl_zero(a));
  return a == 0 ? ~0u : op.kind & kFromTop ? from_top : 31 - from_top;
}

/// Limits positions and lengths to 32; with W, reduces them modulo 32 instead.
std::uint32_t limited(const Op& op, std::uint32_t amount) {
  return op.kind & kWraps ? amount & 31 : std::min(amount, 32u);
}

std::uint32_t low_bits(std::uint32_t count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}

// BMSK: mask of b ones; the lowest is bit a.
std::uint32_t mask_of(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t) {
  const std::uint32_t at = limited(op, a);
  return at >= 32 ? 0 : low_bits(limited(op, b)) << at;
}

// SGXT: lower b bits of a, sign-extended or, with U32, zero-extended.
std::uint32_t extended(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t) {
  const std::uint32_t count = limited(op, b);
  if (count == 0) return 0;
  const std::uint32_t low = a & low_bits(count);
  const bool is_negative = !(op.kind & kUnsigned) && (low >> (count - 1) & 1) != 0;
  return is_negative ? low | ~low_bits(count) : low;
}

template <Function function, std::size_t sources>
void decode_bits(const Decoding& in, Op& op) {
  place(in, op, sources);
  op.kind = static_cast<std::uint8_t>((in.has("U32") ? kUnsigned : 0) | (in.has("W") ? kWraps : 0));
  op.run = run_function<function>;
}

void decode_highest_bit(const Decoding& in, Op& op) {
  in.refuse_form_if(in.modifiers.size() != (in.has("SH") ? 1u : 0u) + (in.has("U32") ? 1u : 0u));
  decode_bits<highest_bit, 1>(in, op);
  if (in.has("SH")) op.kind |= kFromTop;
}

// ---- bytes

std::int64_t field(std::uint32_t bits, unsigned which, unsigned width, bool is_unsigned) {
  const std::uint32_t value = bits >> which * width & low_bits(width);
  const bool is_negative = !is_unsigned && (value >> (width - 1)) != 0;
  return is_negative ? std::int64_t{value} - (std::int64_t{1} << width) : std::int64_t{value};
}

constexpr std::uint8_t kUnsignedA = 1;
constexpr std::uint8_t kUnsignedB = 2;
constexpr std::uint8_t kTwoWide = 4;
constexpr std::uint8_t kUpper = 8;

// IDP.4A: c plus the dot product of four bytes of a and of b. IDP.2A: c plus the dot product of two
// 16-bit values of a and two bytes of b.
std::uint32_t dot_product(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const bool is_wide = op.kind & kTwoWide;
  std::int64_t sum = c;
  for (unsigned i = 0; i < (is_wide ? 2u : 4u); ++i) {
    const unsigned index_b = is_wide && op.kind & kUpper ? i + 2 : i;
    sum += field(a, i, is_wide ? 16 : 8, op.kind & kUnsignedA) *
           field(b, index_b, 8, op.kind & kUnsignedB);
  }
  return static_cast<std::uint32_t>(sum);
}

// IDP.4A.S8.U8 R0, R1, R2, R3
void decode_dot_product(const Decoding& in, Op& op) {
  const bool is_wide = in.has("2A");
  in.refuse_form_if((!is_wide && !in.has("4A")) || in.modifiers.size() != (is_wide ? 4u : 3u));
  place(in, op, 3);
  const std::size_t first = in.modifiers.size() - 2;
  op.kind = static_cast<std::uint8_t>((in.modifiers[first].starts_with('U') ? kUnsignedA : 0) |
                                      (in.modifiers[first + 1].starts_with('U') ? kUnsignedB : 0) |
                                      (is_wide ? kTwoWide : 0) | (in.has("HI") ? kUpper : 0));
  op.run = run_function<dot_product>;
}

// VABSDIFF: |a - b| + c.
std::uint32_t distance(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int64_t difference = field(a, 0, 32, op.kind) - field(b, 0, 32, op.kind);
  return static_cast<std::uint32_t>(difference < 0 ? -difference : difference) + c;
}

void decode_distance(const Decoding& in, Op& op) {
  place(in, op, 3);
  op.kind = in.has("U32");
  op.run = run_function<distance>;
}

// VABSDIFF4: |a - b| for each of four bytes or, with ACC, the sum of the four plus c.
std::uint32_t distances(const Op& op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  std::uint32_t sum = c;
  for (unsigned i = 0; i < 4; ++i) {
    const std::int64_t difference = field(a, i, 8, op.kind) - field(b, i, 8, op.kind);
    const auto distance =
        static_cast<std::uint32_t>(difference < 0 ? -difference : difference) & 0xff;
    result |= distance << 8 * i;
    sum += distance;
  }
  return op.kind2 ? sum : result;
}

void decode_distances(const Decoding& in, Op& op) {
  place(in, op, 3);
  op.kind2 = in.has("ACC");
  op.kind = in.has("U8");
  op.run = run_function<distances>;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"POPC", decode_bits<count_ones, 1>}, {"UPOPC", decode_bits<count_ones, 1>},
    {"BREV", decode_bits<reversed, 1>},   {"UBREV", decode_bits<reversed, 1>},
    {"BMSK", decode_bits<mask_of, 2>},    {"UBMSK", decode_bits<mask_of, 2>},
    {"SGXT", decode_bits<extended, 2>},   {"USGXT", decode_bits<extended, 2>},
    {"IABS", decode_bits<magnitude, 1>},  {"FLO", decode_highest_bit},
    {"UFLO", decode_highest_bit},         {"IDP", decode_dot_product},
    {"VABSDIFF", decode_distance},        {"VABSDIFF4", decode_distances},
};

}  // namespace

std::span<const OpcodeDecoder> bit_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
