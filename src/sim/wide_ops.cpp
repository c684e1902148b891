#include <algorithm>
#include <array>

#include "sim/integer_compare.hpp"
#include "sim/opcodes.hpp"
#include "sim/predicates.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// Returns ~x for -x. The caller adds 1, which can carry separately.
GPUEXP_INLINED void read_flipped(const Warp& warp, const Source& source, Lanes64& value) {
  read_pair(warp, source, value);
  if (!source.negated && !source.inverted) return;
  for (unsigned l = 0; l < kLanes; ++l)
    value[l] = ~value[l];
}

GPUEXP_INLINED void read_wide(const Warp& warp, const Source& source, Lanes64& value) {
  read_flipped(warp, source, value);
  if (!source.negated) return;
  for (unsigned l = 0; l < kLanes; ++l)
    ++value[l];
}

// ---- sums

GPUEXP_VECTORIZED void run_iadd64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 a, b, sum;
  read_flipped(warp, op.from[0], a);
  read_flipped(warp, op.from[1], b);
  const LaneMask carry_in = op.from[2].kind == Kind::none ? 0 : read_predicate(warp, op.from[2]);
  const std::uint64_t ones = (op.from[0].negated ? 1u : 0u) + (op.from[1].negated ? 1u : 0u);
  LaneMask carry = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::uint64_t first = a[l] + b[l];
    sum[l] = first + ones + (carry_in >> l & 1);
    carry |= LaneMask{first < a[l] || sum[l] < first} << l;
  }
  write_pair(warp, op.to[0], lanes, sum);
  write_predicate(warp, op.to[1], lanes, carry);
}

// IADD.64 R2, P0, R4, R6 writes the carry to P0. IADD.64.X also adds the predicate after the
// addends.
void decode_iadd64(const Decoding& in, Op& op) {
  Decoding rest{in.listed, in.modifiers, in.operands};
  if (rest.operands.size() > 1 && is_predicate(rest.operands[1])) {
    op.to[1] = source_of(rest.operands[1]);
    rest.operands.erase(rest.operands.begin() + 1);
  }
  const bool has_carry = in.has("X");
  in.refuse_form_if(rest.operands.size() != (has_carry ? 4u : 3u) ||
                    in.modifiers.size() != (has_carry ? 2u : 1u) ||
                    (has_carry && !is_predicate(rest.operands.back())));
  place(rest, op);
  op.run = run_iadd64;
}

// ---- moves

GPUEXP_VECTORIZED void run_mov64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 value;
  read_wide(warp, op.from[0], value);
  write_pair(warp, op.to[0], lanes, value);
}

GPUEXP_VECTORIZED void run_sel64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 a, b, result;
  read_wide(warp, op.from[0], a);
  read_wide(warp, op.from[1], b);
  const LaneMask first = read_predicate(warp, op.from[2]);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = first >> l & 1 ? a[l] : b[l];
  write_pair(warp, op.to[0], lanes, result);
}

template <Op::Run run, std::size_t operands>
void decode_move(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() != operands || in.modifiers.size() != 1);
  place(in, op);
  op.run = run;
}

// ---- comparisons

constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;

// With a flipped sign bit, signed numbers compare as unsigned numbers.
GPUEXP_INLINED std::uint64_t order_flip(const Op& op) {
  return op.kind2 != 0 ? kSign64 : 0;
}

GPUEXP_VECTORIZED void run_isetp64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 a, b;
  read_wide(warp, op.from[0], a);
  read_wide(warp, op.from[1], b);
  const std::uint64_t flip = order_flip(op);
  const LaneMask result = lanes_where([&](unsigned l) {
    return compare(static_cast<IntegerCompare>(op.kind), a[l] ^ flip, b[l] ^ flip);
  });
  write_comparison(warp, op, lanes, result);
}

// ISETP.GE.S64.AND P0, PT, R2, R4, PT
void decode_isetp64(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() != 5 || in.modifiers.size() != 3);
  const auto how =
      std::find(kIntegerCompares.begin(), kIntegerCompares.end(), in.modifiers.front());
  in.refuse_form_if(how == kIntegerCompares.end());
  place(in, op, Reads::integer, 2);
  op.kind = static_cast<std::uint8_t>(how - kIntegerCompares.begin());
  op.kind2 = in.has("S64");
  op.value = static_cast<std::uint32_t>(combine_of(in));
  op.run = run_isetp64;
}

GPUEXP_VECTORIZED void run_minmax64(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 a, b, result;
  read_wide(warp, op.from[0], a);
  read_wide(warp, op.from[1], b);
  const LaneMask minimum = read_predicate(warp, op.from[2]);
  const std::uint64_t flip = order_flip(op);
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool first_is_less = (a[l] ^ flip) < (b[l] ^ flip);
    result[l] = first_is_less == ((minimum >> l & 1) != 0) ? a[l] : b[l];
  }
  write_pair(warp, op.to[0], lanes, result);
}

// IMNMX.S64 PT, PT, R2, R4, R6, PT, !PT: ptxas uses only the first predicate after the values.
void decode_minmax64(const Decoding& in, Op& op) {
  const auto is_true = [&](std::size_t place, bool inverted) {
    const Operand& operand = in.operands[place];
    return operand.kind == Kind::predicate && operand.index == kTruePredicate &&
           operand.inverted == inverted;
  };
  in.refuse_form_if(in.operands.size() != 7 || in.modifiers.size() != 1 || !is_true(0, false) ||
                    !is_true(1, false) || !is_true(6, true));
  op.to[0] = source_of(in.operands[2]);
  for (unsigned i = 0; i < 3; ++i)
    op.from[i] = source_of(in.operands[i + 3]);
  op.kind2 = in.has("S64");
  op.run = run_minmax64;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"IADD", decode_iadd64},
    {"MOV", decode_move<run_mov64, 2>},
    {"UMOV", decode_move<run_mov64, 2>},
    {"SEL", decode_move<run_sel64, 4>},
    {"USEL", decode_move<run_sel64, 4>},
    {"ISETP", decode_isetp64},
    {"UISETP", decode_isetp64},
    {"IMNMX", decode_minmax64},
    {"UIMNMX", decode_minmax64},
};

}  // namespace

std::span<const OpcodeDecoder> wide_opcodes() {
  return kOpcodes;
}

bool has_wide_modifier(std::span<const std::string_view> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(), [](std::string_view modifier) {
    return modifier == "64" || modifier == "S64" || modifier == "U64";
  });
}

}  // namespace gpuexp::sim
