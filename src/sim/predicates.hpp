// What comparisons of all types have in common: their results, combined with another predicate.
#pragma once

#include "sim/registers.hpp"

namespace gpuexp::sim {

enum class Combine : std::uint8_t { with_and, with_or, with_xor };

inline Combine combine_of(const Decoding& in) {
  return in.has("AND") ? Combine::with_and : in.has("OR") ? Combine::with_or : Combine::with_xor;
}

GPUEXP_INLINED LaneMask combined(Combine how, LaneMask a, LaneMask b) {
  switch (how) {
    case Combine::with_and: return a & b;
    case Combine::with_or: return a | b;
    case Combine::with_xor: return a ^ b;
  }
  return a;
}

/// The first destination gets the result, the second one its opposite. Op::value says how they are
/// combined with the third source.
GPUEXP_INLINED void write_comparison(Warp& warp, const Op& op, LaneMask lanes, LaneMask result) {
  const auto how = static_cast<Combine>(op.value);
  const LaneMask with = read_predicate(warp, op.from[2]);
  write_predicate(warp, op.to[0], lanes, combined(how, result, with));
  write_predicate(warp, op.to[1], lanes, combined(how, ~result, with));
}

}  // namespace gpuexp::sim
