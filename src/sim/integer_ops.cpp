#include <algorithm>
#include <array>

#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// Instructions with carries list one or two predicates after the destination.
void place_with_carries(const Decoding& in, Op& op) {
  std::vector<Operand> operands = in.operands;
  std::vector<Operand> out;
  while (operands.size() > 1 && is_predicate(operands[1])) {
    out.push_back(operands[1]);
    operands.erase(operands.begin() + 1);
  }
  in.refuse_operands_if(out.size() > 2);
  const Decoding rest{in.listed, in.modifiers, operands};
  place(rest, op);
  if (!out.empty()) op.to[1] = source_of(out[0]);
  if (out.size() > 1) op.to[2] = source_of(out[1]);
}

// ---- sums

/// Lower 32 bits of a sum, and the number of carries out of these bits.
struct CarrySum {
  Lanes32 low;
  Lanes32 carries{};
};

// Adds -x as ~x + 1, so that the carry is the carry of the subtraction.
GPUEXP_INLINED void add_to(const Warp& warp, const Source& source, CarrySum& sum) {
  const bool is_changed = source.negated || source.inverted;
  if (source.kind == Kind::reg && source.index == kZeroRegister && !is_changed) return;
  Lanes32 scratch;
  const Lanes32& raw = read_raw(warp, source, scratch);
  const std::uint32_t flip = is_changed ? ~0u : 0u;
  const std::uint32_t one = source.negated ? 1 : 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint32_t addend = raw[l] ^ flip;
    const std::uint32_t with = sum.low[l] + addend;
    sum.low[l] = with + one;
    sum.carries[l] += (with < addend ? 1u : 0u) + (with + one < one ? 1u : 0u);
  }
}

GPUEXP_INLINED void add_carry(const Warp& warp, const Source& source, CarrySum& sum) {
  if (source.kind == Kind::none) return;
  const LaneMask carry = read_predicate(warp, source);
  if (carry == 0) return;
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint32_t one = carry >> l & 1;
    sum.low[l] += one;
    sum.carries[l] += sum.low[l] < one ? 1u : 0u;
  }
}

GPUEXP_INLINED void write_carry(Warp& warp, const Source& to, LaneMask lanes, const CarrySum& sum,
                                std::uint32_t least) {
  if (to.kind == Kind::none) return;
  const LaneMask carry = lanes_where([&](unsigned l) { return sum.carries[l] >= least; });
  write_predicate(warp, to, lanes, carry);
}

// Three addends can carry twice. The instruction that adds the upper half adds both carries.
GPUEXP_INLINED void write_sum(Warp& warp, const Op& op, LaneMask lanes, const CarrySum& sum) {
  write(warp, op.to[0], lanes, sum.low);
  write_carry(warp, op.to[1], lanes, sum, 1);
  write_carry(warp, op.to[2], lanes, sum, 2);
}

GPUEXP_VECTORIZED void run_iadd3(Warp& warp, const Op& op, LaneMask lanes) {
  CarrySum sum{};
  for (unsigned i = 0; i < 3; ++i)
    add_to(warp, op.from[i], sum);
  add_carry(warp, op.from[3], sum);
  add_carry(warp, op.from[4], sum);
  write_sum(warp, op, lanes, sum);
}

// No carry in, no carry out: the most frequent case.
GPUEXP_VECTORIZED void run_iadd3_plain(Warp& warp, const Op& op, LaneMask lanes) {
  write_each(warp, op, lanes,
             [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a + b + c; });
}

// Lower half of an address: two addends, carry out.
GPUEXP_VECTORIZED void run_iadd3_low(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, scratch;
  const Lanes32& a = read_raw(warp, op.from[0], sa);
  const Lanes32& b = read_raw(warp, op.from[1], sb);
  const auto flip_of = [](const Source& s) { return s.negated || s.inverted ? ~0u : 0u; };
  const std::uint32_t flip_a = flip_of(op.from[0]);
  const std::uint32_t flip_b = flip_of(op.from[1]);
  const std::uint32_t one_a = op.from[0].negated ? 1 : 0;
  const std::uint32_t one_b = op.from[1].negated ? 1 : 0;
  Lanes32& sum = result_of(warp, op.to[0], lanes, scratch);
  Lanes32 carries;
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint32_t x = (a[l] ^ flip_a) + one_a;
    const std::uint32_t y = b[l] ^ flip_b;
    const std::uint32_t both = x + y;
    const std::uint32_t all = both + one_b;
    carries[l] = (x < one_a ? 1u : 0u) | (both < y ? 1u : 0u) | (all < one_b ? 1u : 0u);
    sum[l] = all;
  }
  write(warp, op.to[0], lanes, sum);
  const LaneMask carry = lanes_where([&](unsigned l) { return carries[l]; });
  write_predicate(warp, op.to[1], lanes, carry);
}

// Upper half of an address: carries in, no carry out.
GPUEXP_VECTORIZED void run_iadd3_high(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, scratch;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  const Lanes32& c = read_integer(warp, op.from[2], sc);
  const auto carry_of = [&](const Source& s) {
    return s.kind == Kind::none ? 0 : read_predicate(warp, s);
  };
  const LaneMask first = carry_of(op.from[3]);
  const LaneMask second = carry_of(op.from[4]);
  Lanes32& sum = result_of(warp, op.to[0], lanes, scratch);
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l)
    sum[l] = a[l] + b[l] + c[l] + (first >> l & 1) + (second >> l & 1);
  write(warp, op.to[0], lanes, sum);
}

GPUEXP_VECTORIZED void run_iadd3_64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 sum{};
  for (unsigned i = 0; i < 3; ++i) {
    Lanes64 value;
    read_pair(warp, op.from[i], value);
    for (unsigned l = 0; l < kLanes; ++l)
      sum[l] += op.from[i].negated ? 0u - value[l] : value[l];
  }
  write_pair(warp, op.to[0], lanes, sum);
}

void decode_iadd3(const Decoding& in, Op& op) {
  place_with_carries(in, op);
  const bool takes_carries = op.from[3].kind != Kind::none || op.from[4].kind != Kind::none;
  const bool gives_carries = op.to[1].kind != Kind::none;
  const Source& third = op.from[2];
  const bool has_two = third.kind == Kind::reg && third.index == kZeroRegister && !third.negated &&
                       !third.inverted && op.to[2].kind == Kind::none;
  if (in.has("64"))
    op.run = run_iadd3_64;
  else if (takes_carries && gives_carries)
    op.run = run_iadd3;
  else if (takes_carries)
    op.run = run_iadd3_high;
  else if (gives_carries)
    op.run = has_two ? run_iadd3_low : run_iadd3;
  else
    op.run = run_iadd3_plain;
}

GPUEXP_VECTORIZED void run_add(Warp& warp, const Op& op, LaneMask lanes) {
  write_each(warp, op, lanes, [](std::uint32_t a, std::uint32_t b) { return a + b; });
}

// VIADD.16x2 and VIADD.U8x4 add and negate each part of a register by itself.
template <unsigned bits>
GPUEXP_VECTORIZED void run_add_parts(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr std::uint32_t kPart = (1u << bits) - 1;
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t a, std::uint32_t b) {
    std::uint32_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += bits) {
      const std::uint32_t x = op.from[0].negated ? 0u - (a >> shift) : a >> shift;
      const std::uint32_t y = op.from[1].negated ? 0u - (b >> shift) : b >> shift;
      sum |= ((x + y) & kPart) << shift;
    }
    return sum;
  });
}

// VIADD.S32.ISAT clamps the sum to 32 bits, also if an operand is -R and R is -2^31.
GPUEXP_VECTORIZED void run_add_saturated(Warp& warp, const Op& op, LaneMask lanes) {
  write_each<read_raw>(warp, op, lanes, [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t x = static_cast<std::int32_t>(a);
    const std::int64_t y = static_cast<std::int32_t>(b);
    const std::int64_t all = (op.from[0].negated ? -x : x) + (op.from[1].negated ? -y : y);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(all, INT32_MIN, INT32_MAX));
  });
}

void decode_viadd(const Decoding& in, Op& op) {
  place(in, op);
  const bool is_pair = in.has("16x2");
  const bool is_bytes = in.has("U8x4");
  const bool is_saturated = in.has("S32") && in.has("ISAT");
  const std::size_t known = is_saturated ? 2 : is_pair || is_bytes ? 1 : 0;
  in.refuse_form_if(in.modifiers.size() != known);
  op.run = is_pair        ? run_add_parts<16>
           : is_bytes     ? run_add_parts<8>
           : is_saturated ? run_add_saturated
                          : run_add;
}

// ---- products

enum class Product : std::uint8_t { low, high, wide };

template <bool is_unsigned>
std::uint64_t product(std::uint32_t a, std::uint32_t b) {
  if constexpr (is_unsigned) {
    return std::uint64_t{a} * b;
  } else {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                      static_cast<std::int32_t>(b));
  }
}

GPUEXP_VECTORIZED void run_imad(Warp& warp, const Op& op, LaneMask lanes) {
  if (op.to[1].kind == Kind::none && op.from[3].kind == Kind::none)
    return write_each(warp, op, lanes,
                      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a * b + c; });
  Lanes32 sa, sb;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  CarrySum sum;
  for (unsigned l = 0; l < kLanes; ++l)
    sum.low[l] = a[l] * b[l];
  add_to(warp, op.from[2], sum);
  add_carry(warp, op.from[3], sum);
  write_sum(warp, op, lanes, sum);
}

// The addend is a pair of registers, also for IMAD.HI, which returns the upper half.
template <bool is_unsigned>
void run_imad_wide(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  Lanes64 sum;
  read_pair(warp, op.from[2], sum);
  if (op.from[2].negated || op.from[2].inverted) {
    for (unsigned l = 0; l < kLanes; ++l)
      sum[l] = op.from[2].negated ? 0u - sum[l] : ~sum[l];
  }
  LaneMask carry = 0;
  const LaneMask carry_in = op.from[3].kind == Kind::none ? 0 : read_predicate(warp, op.from[3]);
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint64_t addend = sum[l] + (carry_in >> l & 1);
    const bool first = addend < sum[l];
    sum[l] = addend + product<is_unsigned>(a[l], b[l]);
    carry |= LaneMask{first || sum[l] < addend} << l;
  }
  write_predicate(warp, op.to[1], lanes, carry);
  if (op.kind == static_cast<std::uint8_t>(Product::wide))
    return write_pair(warp, op.to[0], lanes, sum);
  Lanes32 high;
  for (unsigned l = 0; l < kLanes; ++l)
    high[l] = static_cast<std::uint32_t>(sum[l] >> 32);
  write(warp, op.to[0], lanes, high);
}

void decode_imad(const Decoding& in, Op& op) {
  place_with_carries(in, op);
  const Product which = in.has("WIDE") ? Product::wide
                        : in.has("HI") ? Product::high
                                       : Product::low;
  op.kind = static_cast<std::uint8_t>(which);
  op.run = which == Product::low ? run_imad
           : in.has("U32")       ? run_imad_wide<true>
                                 : run_imad_wide<false>;
}

// ---- shifts and sums of shifted values

// LEA: b + (a << s). LEA.HI: b + the upper half of ({c, a} << s); with SX32, c extends a's sign.
enum class Lea : std::uint8_t { low, high, high_of_sign };

GPUEXP_VECTORIZED void run_lea(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sc;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const auto which = static_cast<Lea>(op.kind);
  CarrySum sum;
  if (which == Lea::low) {
    for (unsigned l = 0; l < kLanes; ++l)
      sum.low[l] = a[l] << op.value;
  } else {
    const Lanes32* c = which == Lea::high ? &read_integer(warp, op.from[2], sc) : nullptr;
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t upper =
          c ? (*c)[l] : static_cast<std::uint32_t>(static_cast<std::int32_t>(a[l]) >> 31);
      const std::uint64_t both = a[l] | static_cast<std::uint64_t>(upper) << 32;
      sum.low[l] = static_cast<std::uint32_t>((both << op.value) >> 32);
    }
  }
  add_to(warp, op.from[1], sum);
  add_carry(warp, op.from[4], sum);
  write_sum(warp, op, lanes, sum);
}

void decode_lea(const Decoding& in, Op& op) {
  Decoding rest{in.listed, in.modifiers, in.operands};
  Operand carry;
  in.refuse_operands_if(in.operands.size() < 4 || in.operands.size() > 8);
  if (in.has("X")) {
    carry = rest.operands.back();
    rest.operands.pop_back();
  }
  op.value = static_cast<std::uint32_t>(rest.operands.back().value);
  if (rest.operands.back().kind != Kind::integer || op.value > 31)
    in.refuse("the shift is not an immediate");
  rest.operands.pop_back();
  place_with_carries(rest, op);
  // -a << s equals -(a << s) if no bit above the lower 32 is used.
  const bool is_narrow = !in.has("HI") && !in.has("X") && op.to[1].kind == Kind::none;
  if (op.from[0].negated && !is_narrow) in.refuse("a negated 64-bit operand is not executed");
  op.from[4] = source_of(carry);
  op.kind = static_cast<std::uint8_t>(!in.has("HI")    ? Lea::low
                                      : in.has("SX32") ? Lea::high_of_sign
                                                       : Lea::high);
  op.run = run_lea;
}

// SHF shifts {c, a} by s and returns the lower half or, with HI, the upper half. A shift of more
// than the width counts as the width or, with W, wraps.
struct Shift {
  static constexpr std::uint8_t kLeft = 1;
  static constexpr std::uint8_t kHigh = 2;
  static constexpr std::uint8_t kSigned = 4;
  static constexpr std::uint8_t kWide = 8;  ///< the width is 64 bits instead of 32
  static constexpr std::uint8_t kWrap = 16;
};

GPUEXP_INLINED std::uint32_t shifted(std::uint8_t kind, std::uint32_t low, std::uint32_t amount,
                                     std::uint32_t high) {
  const std::uint32_t width = kind & Shift::kWide ? 64 : 32;
  const std::uint32_t by = kind & Shift::kWrap ? amount % width : std::min(amount, width);
  const std::uint64_t both = low | static_cast<std::uint64_t>(high) << 32;
  std::uint64_t result;
  if (kind & Shift::kLeft) {
    result = by >= 64 ? 0 : both << by;
  } else if (kind & Shift::kSigned) {
    result = static_cast<std::uint64_t>(static_cast<std::int64_t>(both) >>
                                        std::min<std::uint32_t>(by, 63));
  } else {
    result = by >= 64 ? 0 : both >> by;
  }
  return static_cast<std::uint32_t>(kind & Shift::kHigh ? result >> 32 : result);
}

GPUEXP_VECTORIZED void run_shf(Warp& warp, const Op& op, LaneMask lanes) {
  write_each(warp, op, lanes, [&](std::uint32_t low, std::uint32_t amount, std::uint32_t high) {
    return shifted(op.kind, low, amount, high);
  });
}

void decode_shf(const Decoding& in, Op& op) {
  place(in, op);
  op.kind = static_cast<std::uint8_t>(
      (in.has("L") ? Shift::kLeft : 0) | (in.has("HI") ? Shift::kHigh : 0) |
      (in.has("S32") || in.has("S64") ? Shift::kSigned : 0) |
      (in.has("U64") || in.has("S64") ? Shift::kWide : 0) | (in.has("W") ? Shift::kWrap : 0));
  op.run = run_shf;
}

// ---- permutations of bytes

// Modes of PRMT, which determine its selectors of four bytes (PTX ISA, prmt).
enum class Permutation : std::uint8_t { any, f4e, b4e, rc8, ecl, ecr, rc16 };
constexpr std::array<std::string_view, 7> kPermutations{"",    "F4E", "B4E", "RC8",
                                                        "ECL", "ECR", "RC16"};

GPUEXP_INLINED std::uint32_t selector_of(Permutation mode, std::uint32_t by) {
  if (mode == Permutation::any) return by;
  by &= 3;
  std::uint32_t selector = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned byte = mode == Permutation::f4e   ? by + i
                          : mode == Permutation::b4e ? (by - i) & 7
                          : mode == Permutation::rc8 ? by
                          : mode == Permutation::ecl ? std::max(by, i)
                          : mode == Permutation::ecr ? std::min(by, i)
                                                     : (by & 1) * 2 + (i & 1);
    selector |= byte << 4 * i;
  }
  return selector;
}

GPUEXP_VECTORIZED void run_prmt(Warp& warp, const Op& op, LaneMask lanes) {
  write_each(warp, op, lanes, [&](std::uint32_t a, std::uint32_t selector, std::uint32_t c) {
    const std::uint64_t bytes = a | static_cast<std::uint64_t>(c) << 32;
    const std::uint32_t chosen = selector_of(static_cast<Permutation>(op.kind), selector);
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned which = chosen >> 4 * i & 0xf;
      auto byte = static_cast<std::uint32_t>(bytes >> 8 * (which & 7) & 0xff);
      if (which & 8) byte = byte & 0x80 ? 0xff : 0;
      value |= byte << 8 * i;
    }
    return value;
  });
}

void decode_prmt(const Decoding& in, Op& op) {
  const std::string_view mode = in.modifiers.empty() ? std::string_view() : in.modifiers.front();
  const auto found = std::find(kPermutations.begin(), kPermutations.end(), mode);
  if (found == kPermutations.end()) in.refuse("its mode is not executed");
  op.kind = static_cast<std::uint8_t>(found - kPermutations.begin());
  place(in, op);
  op.run = run_prmt;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"IADD3", decode_iadd3}, {"UIADD3", decode_iadd3}, {"VIADD", decode_viadd},
    {"IMAD", decode_imad},   {"UIMAD", decode_imad},   {"LEA", decode_lea},
    {"ULEA", decode_lea},    {"SHF", decode_shf},      {"USHF", decode_shf},
    {"PRMT", decode_prmt},   {"UPRMT", decode_prmt},
};

}  // namespace

std::span<const OpcodeDecoder> integer_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
