#include <algorithm>
#include <array>
#include <type_traits>

#include "sim/integer_compare.hpp"
#include "sim/opcodes.hpp"
#include "sim/predicates.hpp"

namespace gpuexp::sim {

namespace {

// FSEL negates its sources as floating-point numbers, SEL as integers.
GPUEXP_INLINED void write_selected(Warp& warp, const Op& op, LaneMask lanes, const Lanes32& a,
                                   const Lanes32& b) {
  const LaneMask first = read_predicate(warp, op.from[2]);
  Lanes32 result;
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = first >> l & 1 ? a[l] : b[l];
  write(warp, op.to[0], lanes, result);
}

GPUEXP_VECTORIZED void run_sel(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  write_selected(warp, op, lanes, read_integer(warp, op.from[0], sa),
                 read_integer(warp, op.from[1], sb));
}
GPUEXP_VECTORIZED void run_fsel(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  write_selected(warp, op, lanes, read_float_bits(warp, op.from[0], sa),
                 read_float_bits(warp, op.from[1], sb));
}

template <Reads reads, Op::Run run>
void decode_selection(const Decoding& in, Op& op) {
  in.refuse_form_if(!in.modifiers.empty());
  place(in, op, reads);
  op.run = run;
}

template <class T>
T min_or_max(T a, T b, bool minimum) {
  return minimum ? std::min(a, b) : std::max(a, b);
}

/// Flags of VIMNMX, in Op::value.
constexpr std::uint32_t kPairs = 1;  ///< two values of 16 bits
constexpr std::uint32_t kRelu = 2;   ///< negative results become 0
constexpr std::uint32_t kBytes = 4;  ///< four values of 8 bits

template <class T>
GPUEXP_INLINED std::uint32_t chosen(std::uint32_t a, std::uint32_t b, bool minimum, bool relu) {
  const T one = min_or_max(static_cast<T>(a), static_cast<T>(b), minimum);
  return static_cast<std::make_unsigned_t<T>>(relu && one < 0 ? T{0} : one);
}

GPUEXP_INLINED std::uint32_t chosen_of(const Op& op, std::uint32_t a, std::uint32_t b,
                                       bool minimum) {
  const bool relu = op.value & kRelu;
  if (op.value & kBytes) {
    const auto byte = [&](unsigned shift) {
      return std::uint32_t{chosen<std::uint8_t>(a >> shift, b >> shift, minimum, relu)} << shift;
    };
    return byte(0) | byte(8) | byte(16) | byte(24);
  }
  if (!(op.value & kPairs))
    return op.kind ? chosen<std::uint32_t>(a, b, minimum, relu)
                   : chosen<std::int32_t>(a, b, minimum, relu);
  const auto half = [&](unsigned shift) {
    return op.kind ? chosen<std::uint16_t>(a >> shift, b >> shift, minimum, relu)
                   : chosen<std::int16_t>(a >> shift, b >> shift, minimum, relu);
  };
  return half(0) | half(16) << 16;
}

std::uint32_t sum_of(const Op& op, std::uint32_t a, std::uint32_t b) {
  if (!(op.value & kPairs)) return a + b;
  constexpr std::uint32_t kHigh = 0xffff0000;
  return ((a + b) & ~kHigh) | ((a & kHigh) + (b & kHigh));
}

// Minimum if the predicate is true, else maximum. VIADDMNMX first adds two sources.
GPUEXP_VECTORIZED void run_minmax(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const bool adds = op.kind2 != 0;
  Lanes32 a = read_integer(warp, op.from[0], sa);
  if (adds) {
    const Lanes32& more = read_integer(warp, op.from[1], sc);
    for (unsigned l = 0; l < kLanes; ++l)
      a[l] = sum_of(op, a[l], more[l]);
  }
  const Lanes32& b = read_integer(warp, op.from[adds ? 2 : 1], sb);
  const LaneMask minimum = read_predicate(warp, op.from[adds ? 3 : 2]);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = chosen_of(op, a[l], b[l], minimum >> l & 1);
  write(warp, op.to[0], lanes, result);
}

// VIMNMX3: the minimum or maximum of three values.
GPUEXP_VECTORIZED void run_minmax3(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  const Lanes32& c = read_integer(warp, op.from[2], sc);
  const LaneMask minimum = read_predicate(warp, op.from[3]);
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool is_min = minimum >> l & 1;
    result[l] = chosen_of(op, chosen_of(op, a[l], b[l], is_min), c[l], is_min);
  }
  write(warp, op.to[0], lanes, result);
}

// Code of compute capability 10.0 has two unused predicates after the destination: VIMNMX R0, PT,
// PT, R1, R2, !PT.
Decoding without_unused_predicates(const Decoding& in, std::size_t sources) {
  Decoding rest{in.listed, in.modifiers, in.operands};
  const auto is_unused = [](const Operand& operand) {
    return operand.kind == Operand::Kind::predicate && operand.index == kTruePredicate &&
           !operand.inverted;
  };
  if (rest.operands.size() == sources + 3 && is_unused(rest.operands[1]) &&
      is_unused(rest.operands[2]))
    rest.operands.erase(rest.operands.begin() + 1, rest.operands.begin() + 3);
  in.refuse_operands_if(rest.operands.size() != sources + 1);
  return rest;
}

void place_minmax(const Decoding& in, Op& op, std::size_t sources) {
  place(without_unused_predicates(in, sources), op);
  for (const std::string_view modifier : in.modifiers)
    in.refuse_form_if(!is_any_of(modifier, {"U32", "U16x2", "S16x2", "RELU", "S32", "U8x4"}));
  op.kind = in.has("U32") || in.has("U16x2");
  op.value = (in.has("U16x2") || in.has("S16x2") ? kPairs : 0) | (in.has("RELU") ? kRelu : 0) |
             (in.has("U8x4") ? kBytes : 0);
  op.run = run_minmax;
}

void decode_minmax(const Decoding& in, Op& op) {
  place_minmax(in, op, 3);
}

void decode_add_minmax(const Decoding& in, Op& op) {
  place_minmax(in, op, 4);
  const bool negates_pairs = op.value & kPairs && (op.from[0].negated || op.from[1].negated);
  in.refuse_form_if(op.value & kBytes || negates_pairs);
  op.kind2 = 1;
}

void decode_minmax3(const Decoding& in, Op& op) {
  place_minmax(in, op, 4);
  op.run = run_minmax3;
}

template <class T>
GPUEXP_INLINED LaneMask compare_lanes(IntegerCompare how, const Lanes32& a, const Lanes32& b) {
  return lanes_where(
      [&](unsigned l) { return compare(how, static_cast<T>(a[l]), static_cast<T>(b[l])); });
}

constexpr std::uint8_t kUnsigned = 8;
constexpr std::uint8_t kExtended = 16;

// For wider integers: if the upper halves are equal, the comparison of the lower halves decides.
GPUEXP_INLINED LaneMask extended(IntegerCompare how, LaneMask result, const Lanes32& a,
                                 const Lanes32& b, LaneMask lower) {
  const LaneMask equal = lanes_where([&](unsigned l) { return a[l] == b[l]; });
  if (how == IntegerCompare::ne) return result | lower;
  return (result & ~equal) | (equal & lower);
}

GPUEXP_VECTORIZED void run_isetp(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  const auto how = static_cast<IntegerCompare>(op.kind & 7);
  LaneMask result = op.kind & kUnsigned ? compare_lanes<std::uint32_t>(how, a, b)
                                        : compare_lanes<std::int32_t>(how, a, b);
  if (op.kind & kExtended) result = extended(how, result, a, b, read_predicate(warp, op.from[3]));
  write_comparison(warp, op, lanes, result);
}

void decode_isetp(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() < 5 || in.modifiers.empty());
  place(in, op, Reads::integer, 2);
  const auto how =
      std::find(kIntegerCompares.begin(), kIntegerCompares.end(), in.modifiers.front());
  const std::size_t known = 2 + std::size_t{in.has("U32")} + std::size_t{in.has("EX")};
  if (how == kIntegerCompares.end() || in.modifiers.size() != known)
    in.refuse("this comparison is not executed");
  op.kind =
      static_cast<std::uint8_t>((how - kIntegerCompares.begin()) | (in.has("U32") ? kUnsigned : 0) |
                                (in.has("EX") ? kExtended : 0));
  op.value = static_cast<std::uint32_t>(combine_of(in));
  op.run = run_isetp;
}

// ---- moves

GPUEXP_VECTORIZED void run_mov(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch;
  write(warp, op.to[0], lanes, read_integer(warp, op.from[0], scratch));
}

// P2R packs each lane's predicates into a byte of its register; UP2UR packs the warp's predicates.
// A mask selects the predicates; op.kind is the byte's number.
template <bool are_uniform>
GPUEXP_VECTORIZED void run_p2r(Warp& warp, const Op& op, LaneMask lanes) {
  const unsigned shift = 8 * op.kind;
  Lanes32 scratch, result;
  const Lanes32& other = read_integer(warp, op.from[1], scratch);
  for (unsigned l = 0; l < kLanes; ++l) {
    std::uint32_t bits = 0;
    for (unsigned p = 0; p < kTruePredicate; ++p)
      bits |=
          (are_uniform ? std::uint32_t{warp.uniform_predicates[p]} : warp.predicates[p] >> l & 1)
          << p;
    result[l] = (bits & op.value) << shift | (other[l] & ~(op.value << shift));
  }
  write(warp, op.to[0], lanes, result);
}

GPUEXP_VECTORIZED void run_r2p(Warp& warp, const Op& op, LaneMask lanes) {
  const unsigned shift = 8 * op.kind;
  Lanes32 scratch;
  const Lanes32& bits = read_integer(warp, op.from[0], scratch);
  for (unsigned p = 0; p < kTruePredicate; ++p) {
    if (!(op.value >> p & 1)) continue;
    LaneMask value = 0;
    for (unsigned l = 0; l < kLanes; ++l)
      value |= (bits[l] >> (p + shift) & 1) << l;
    warp.predicates[p] = (warp.predicates[p] & ~lanes) | (value & lanes);
  }
}

// P2R R0, PR, RZ, mask (P2R.B1 for byte 1) and R2P PR, R0.B1, mask
template <Op::Run run>
void decode_packing(const Decoding& in, Op& op) {
  place(in, op);
  op.value = static_cast<std::uint32_t>(in.operands.back().value);
  using Half = Operand::Half;
  const Half half = op.from[0].half;
  op.kind = half == Half::byte1 || in.has("B1")   ? 1
            : half == Half::byte2 || in.has("B2") ? 2
            : half == Half::byte3 || in.has("B3") ? 3
                                                  : 0;
  op.from[0].half = Half::both;
  op.run = run;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"SEL", decode_selection<Reads::integer, run_sel>},
    {"USEL", decode_selection<Reads::integer, run_sel>},
    {"FSEL", decode_selection<Reads::fp32, run_fsel>},
    {"UFSEL", decode_selection<Reads::fp32, run_fsel>},
    {"VIMNMX", decode_minmax},
    {"UVIMNMX", decode_minmax},
    {"IMNMX", decode_minmax},
    {"VIADDMNMX", decode_add_minmax},
    {"VIMNMX3", decode_minmax3},
    {"ISETP", decode_isetp},
    {"UISETP", decode_isetp},
    {"MOV", decode_selection<Reads::integer, run_mov>},
    {"UMOV", decode_selection<Reads::integer, run_mov>},
    {"P2R", decode_packing<run_p2r<false>>},
    {"UP2UR", decode_packing<run_p2r<true>>},
    {"R2P", decode_packing<run_r2p>},
};

}  // namespace

std::span<const OpcodeDecoder> select_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
