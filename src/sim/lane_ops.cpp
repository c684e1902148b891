#include <algorithm>

#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

enum class Shuffle : std::uint8_t { index, up, down, butterfly };

// The value of a lane that does not execute the instruction is undefined in the PTX ISA. An H200
// returns 0, and the predicate is true (tests/sim/device_code_test.cpp).
void run_shfl(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_raw(warp, op.from[0], sa);
  const Lanes32& b = read_raw(warp, op.from[1], sb);
  const Lanes32& c = read_raw(warp, op.from[2], sc);
  LaneMask in_range = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned segment = c[l] >> 8 & 31;
    const unsigned last = (l & segment) | (c[l] & 31 & ~segment);
    const unsigned first = l & segment;
    const unsigned by = b[l] & 31;
    unsigned from = l;
    bool valid = false;
    switch (static_cast<Shuffle>(op.kind)) {
      case Shuffle::index:
        from = first | (by & ~segment);
        valid = from <= last;
        break;
      case Shuffle::up:
        valid = static_cast<int>(l) - static_cast<int>(by) >= static_cast<int>(last);
        from = l - by;
        break;
      case Shuffle::down:
        from = l + by;
        valid = from <= last;
        break;
      case Shuffle::butterfly:
        from = l ^ by;
        valid = from <= last;
        break;
    }
    if (!valid) from = l;
    in_range |= LaneMask{valid} << l;
    result[l] = lanes >> (from & 31) & 1 ? a[from & 31] : 0;
  }
  write_predicate(warp, op.to[1], lanes, in_range);
  write(warp, op.to[0], lanes, result);
}

// SHFL.DOWN P0, R1, R2, 0x10, 0x1f
void decode_shfl(const Decoding& in, Op& op) {
  place_each(in, {&op.to[1], &op.to[0], &op.from[0], &op.from[1], &op.from[2]});
  op.kind = static_cast<std::uint8_t>(in.has("IDX")    ? Shuffle::index
                                      : in.has("UP")   ? Shuffle::up
                                      : in.has("DOWN") ? Shuffle::down
                                                       : Shuffle::butterfly);
  op.run = run_shfl;
}

void run_vote(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask yes = read_predicate(warp, op.from[0]) & lanes;
  const bool result = op.kind == 0   ? yes != 0
                      : op.kind == 1 ? yes == lanes
                                     : yes == 0 || yes == lanes;
  Lanes32 ballot;
  ballot.of.fill(yes);
  write(warp, op.to[0], lanes, ballot);
  write_predicate(warp, op.to[1], lanes, result ? kAllLanes : 0);
}

// VOTE.ANY R0, P0, P1 returns the ballot, if R0 is listed, and the result of the vote.
void decode_vote(const Decoding& in, Op& op) {
  place_each(in, {&op.to[0], &op.to[1], &op.from[0]}, 2);
  op.kind = in.has("ANY") ? 0 : in.has("ALL") ? 1 : 2;
  op.run = run_vote;
}

enum class Reduction : std::uint8_t { sum, min, max, min_signed, max_signed, all, any, parity };

std::uint32_t reduced(Reduction how, std::uint32_t a, std::uint32_t b) {
  const auto signed_a = static_cast<std::int32_t>(a);
  const auto signed_b = static_cast<std::int32_t>(b);
  switch (how) {
    case Reduction::sum: return a + b;
    case Reduction::min: return std::min(a, b);
    case Reduction::max: return std::max(a, b);
    case Reduction::min_signed: return static_cast<std::uint32_t>(std::min(signed_a, signed_b));
    case Reduction::max_signed: return static_cast<std::uint32_t>(std::max(signed_a, signed_b));
    case Reduction::all: return a & b;
    case Reduction::any: return a | b;
    case Reduction::parity: return a ^ b;
  }
  return a;
}

void run_redux(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_raw(warp, op.from[0], scratch);
  std::uint32_t all = a[first_lane(lanes)];
  for_each_lane(lanes & (lanes - 1),
                [&](unsigned l) { all = reduced(static_cast<Reduction>(op.kind), all, a[l]); });
  result.of.fill(all);
  write(warp, op.to[0], lanes, result);
}

// REDUX.MIN.S32 UR4, R5. Compute capability 10.0 and later uses CREDUX for minimum and maximum.
// Without a modifier, the operation is AND.
void decode_redux(const Decoding& in, Op& op) {
  place_each(in, {&op.to[0], &op.from[0]});
  const bool is_signed = in.has("S32");
  const Reduction how = in.has("SUM")   ? Reduction::sum
                        : in.has("MIN") ? (is_signed ? Reduction::min_signed : Reduction::min)
                        : in.has("MAX") ? (is_signed ? Reduction::max_signed : Reduction::max)
                        : in.has("OR")  ? Reduction::any
                        : in.has("XOR") ? Reduction::parity
                                        : Reduction::all;
  const std::size_t known =
      (how == Reduction::all ? std::size_t{in.has("AND")} : 1) + (is_signed ? 1 : 0);
  in.refuse_form_if(in.modifiers.size() != known);
  op.kind = static_cast<std::uint8_t>(how);
  op.run = run_redux;
}

// MATCH.ANY R4, R5: mask of the lanes with the same value as this lane. MATCH.ALL P0, R4, R5: mask
// of all lanes if all have the same value, else 0.
void run_match(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 value;
  read_pair(warp, op.from[0], value);
  if (op.width == 4) {
    for (unsigned l = 0; l < kLanes; ++l)
      value[l] = static_cast<std::uint32_t>(value[l]);
  }
  Lanes32 same{};
  for_each_lane(lanes, [&](unsigned l) {
    for_each_lane(lanes,
                  [&](unsigned other) { same[l] |= LaneMask{value[l] == value[other]} << other; });
  });
  if (op.kind != 0) {
    const bool all = same[first_lane(lanes)] == lanes;
    same.of.fill(all ? lanes : 0);
    write_predicate(warp, op.to[1], lanes, all ? kAllLanes : 0);
  }
  write(warp, op.to[0], lanes, same);
}

void decode_match(const Decoding& in, Op& op) {
  const bool all = in.has("ALL");
  in.refuse_form_if(all == in.has("ANY") || in.operands.size() != (all ? 3u : 2u));
  place_each(in, {&op.to[1], &op.to[0], &op.from[0]}, 2);
  op.kind = all;
  op.width = in.has("U64") ? 8 : 4;
  op.run = run_match;
}

// ELECT P0, URZ, PT elects the lowest active lane and returns its index.
void run_elect(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 chosen;
  chosen.of.fill(static_cast<std::uint32_t>(std::countr_zero(lanes)));
  write(warp, op.to[0], lanes, chosen);
  write_predicate(warp, op.to[1], lanes, lanes & (~lanes + 1));
}

void decode_elect(const Decoding& in, Op& op) {
  place_each(in, {&op.to[1], &op.to[0], nullptr});
  in.refuse_form_if(in.operands[2].index != kTruePredicate || in.operands[2].inverted);
  op.run = run_elect;
}

// R2UR copies the first lane's value to a register of the warp. If lanes may have different values,
// the compiler generates a loop with one lane's value per iteration. The predicate marks the lanes
// with other values; with OR, also the lanes marked for earlier registers.
void run_r2ur(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 scratch, result;
  const Lanes32& a = read_raw(warp, op.from[0], scratch);
  const std::uint32_t value = a[first_lane(lanes)];
  result.of.fill(value);
  write(warp, op.to[0], lanes, result);
  if (op.to[1].kind == Kind::none) return;
  LaneMask others = op.kind ? read_predicate(warp, op.to[1]) : 0;
  for (unsigned l = 0; l < kLanes; ++l)
    others |= LaneMask{a[l] != value} << l;
  write_predicate(warp, op.to[1], lanes, others);
}

// R2UR UR4, R5 and R2UR.OR P0, UR4, R5. R2UR.BROADCAST, by which ptxas moves the result of a
// shuffle from one lane, may have other values in other lanes.
void decode_r2ur(const Decoding& in, Op& op) {
  in.refuse_form_if(in.modifiers.size() > (in.has("OR") || in.has("BROADCAST") ? 1 : 0));
  place_each(in, {&op.to[1], &op.to[0], &op.from[0]}, 2);
  op.kind = in.has("OR");
  op.run = run_r2ur;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"SHFL", decode_shfl},   {"VOTE", decode_vote},    {"VOTEU", decode_vote},
    {"REDUX", decode_redux}, {"CREDUX", decode_redux}, {"MATCH", decode_match},
    {"ELECT", decode_elect}, {"R2UR", decode_r2ur},
};

}  // namespace

std::span<const OpcodeDecoder> lane_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
