// Problem, inputs, plain reference and error bound of softmax.
#pragma once

#include <cmath>

#include "kernels/common/row_family.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::softmax {

struct Problem : RowProblem {
  double scale;  // x is in [-scale, scale)
};

struct Data {
  void* x;
  void* y;
  void* copied;  // output of variant `copy`
};

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_scores(p, d.x, p.scale, stream_seed(seed, 0));
}

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_row_matrix(p, d.x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    return evaluate_rows(out[0], p.rows, ExactSoftmax<T>{m.x, p.columns}) +
           reference_of_copy(p, d.x, out[1]);
  });
}

// Bound derived in tolerance_derivation.
inline Tolerance tolerance(const Problem& p) {
  constexpr double kU = 0x1p-24;
  const double range = 2 * p.scale;
  const double stored = unit_roundoff(p.dtype), power = fast_exp_error(range);
  const double result = max_sum_error(p.columns, range) + 2 * power + 4 * kU;
  const double rms =
      std::hypot(rounding_rms(p.dtype), max_sum_rms(p.columns, range), std::sqrt(2.0 / 3) * power);
  return {result + stored * (1 + result), 0x1p-124, kRmsSafety * rms, 0.0};
}

}  // namespace gpuexp::softmax
