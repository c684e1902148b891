// A matrix product that several GPUs share: each rank's parts of A, B and C, the traffic on the
// links, inputs and reference.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/gemm.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/rank_parts.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::tensor_parallel {

using T = __nv_bfloat16;

enum class Split {
  rows,     // rows of A and C
  columns,  // columns of B and C
  k,        // columns of A and rows of B: each GPU has a partial sum of all of C
  grid,     // rows of A and columns of B, on 2×2 GPUs
};
enum class Result {
  everywhere,  // each GPU has all of C
  parts,       // each GPU has its part; if k is split, its rows
};

// Row-major without padding: A is M×K, B is K×N, C is M×N.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  Split split;
  Result result;
  int gpus;
};

struct Data {
  int rank;
  Ranks<const T> a;  // whole on each GPU; a variant uses the rank's part
  Ranks<const T> b;  // whole on each GPU
  Ranks<T> c;        // elements without a result are unchanged
  Ranks<T> partial;  // partial sums of C, if k is split
  Ranks<unsigned> signals;
};

constexpr std::int64_t kBytes = sizeof(T);
constexpr std::int64_t kUnit = kPartUnit;

/// The product of a rank: these rows of A by these columns of B, summed over this range of k.
struct Part {
  Range rows;
  Range columns;
  Range depth;
  bool is_empty() const { return rows.size() == 0 || columns.size() == 0; }
  std::int64_t results() const { return rows.size() * columns.size(); }
};

inline Part part_of(const Problem& p, int rank) {
  Part part{{0, p.m}, {0, p.n}, {0, p.k}};
  constexpr int kGridColumns = 2;
  switch (p.split) {
    case Split::rows: part.rows = even_part(p.m, p.gpus, rank); break;
    case Split::columns: part.columns = even_part(p.n, p.gpus, rank); break;
    case Split::k: part.depth = even_part(p.k, p.gpus, rank); break;
    case Split::grid:
      part.rows = even_part(p.m, p.gpus / kGridColumns, rank / kGridColumns);
      part.columns = even_part(p.n, kGridColumns, rank % kGridColumns);
      break;
  }
  return part;
}

/// The part of C that a rank computes or sums, before anything is gathered.
inline Part own_result(const Problem& p, int rank) {
  Part part = part_of(p, rank);
  if (p.split == Split::k) part.rows = even_part(p.m, p.gpus, rank);
  return part;
}

template <class Figure>
std::int64_t most(const Problem& p, Figure plot) {
  return max_of_ranks(p.gpus, plot);
}

inline bool is_everywhere(const Problem& p) {
  return p.result == Result::everywhere;
}

inline bool is_split_k(const Problem& p) {
  return p.split == Split::k;
}

/// Number of rows of C in one slot of an inbox of partial sums.
inline std::int64_t slot_rows(const Problem& p) {
  return ceil_div(most(p, [&](int r) { return even_part(p.m, p.gpus, r).size(); }), kUnit) * kUnit;
}

// ---- bytes on the links

/// Bytes sent by the rank that sends most, and received by the rank that receives most.
struct Traffic {
  double to = 0;
  double from = 0;
  double most() const { return std::max(to, from); }
  Traffic operator+(const Traffic& x) const { return {to + x.to, from + x.from}; }
};

/// Each rank's part of C, sent to all others.
inline Traffic gathered(const Problem& p) {
  if (!is_everywhere(p)) return {};
  const std::int64_t all = p.m * p.n;
  const auto part = [&](int r) { return own_result(p, r).results(); };
  return {static_cast<double>(kBytes * (p.gpus - 1) * most(p, part)),
          static_cast<double>(kBytes * most(p, [&](int r) { return all - part(r); }))};
}

/// Each rank's part of the partial sums of C, received from all others.
inline Traffic scattered(const Problem& p) {
  const auto part = [&](int r) { return own_result(p, r).results(); };
  return {static_cast<double>(kBytes * most(p, [&](int r) { return p.m * p.n - part(r); })),
          static_cast<double>(kBytes * (p.gpus - 1) * most(p, part))};
}

/// Minimum traffic of the split if each rank has its parts of A and B.
inline Traffic min_traffic(const Problem& p) {
  return p.split == Split::k ? scattered(p) + gathered(p) : gathered(p);
}

/// The parts of A and B, sent from GPU 0 to the others.
inline Traffic copied_inputs(const Problem& p) {
  Traffic traffic;
  for (int r = 1; r < p.gpus; ++r) {
    const Part part = part_of(p, r);
    const auto bytes =
        static_cast<double>(kBytes * part.depth.size() * (part.rows.size() + part.columns.size()));
    traffic.to += bytes;
    traffic.from = std::max(traffic.from, bytes);
  }
  return traffic;
}

/// The partial sums of all other ranks: whole if each GPU needs all of C, otherwise only its part.
inline Traffic all_partial_sums(const Problem& p) {
  if (!is_everywhere(p)) return scattered(p);
  const auto bytes = static_cast<double>(kBytes * (p.gpus - 1) * p.m * p.n);
  return {bytes, bytes};
}

// ---- inputs

inline Steps reset(const Problem& p, const Data& d) {
  return fill(d.c.of[d.rank], p.m * p.n, Untouched<T>{});
}

// The inputs are equal on all ranks.
inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(const_cast<T*>(d.a.of[d.rank]), p.m * p.k, stream_seed(seed, 0)) +
         fill_uniform(const_cast<T*>(d.b.of[d.rank]), p.k * p.n, stream_seed(seed, 1)) +
         reset(p, d);
}

// ---- the plain reference and its tolerance

inline NormBound error_bound(const Problem& p) {
  NormBound bound = tensor_core_bound(p.k, DataType::fp32, DataType::bf16);
  if (p.split == Split::k) {
    bound.rms_error =
        std::hypot(tensor_core_sum_rms(p.k, DataType::fp32),
                   std::hypot(rounding_rms(DataType::bf16), sum_rms(p.gpus, DataType::bf16)));
  }
  return bound;
}

/// Expected C of one rank: products in the rank's result, initial values elsewhere.
struct Expected {
  GemmOperands<T> x;
  NormBound bound;
  Range rows;  // rows of the result
  Range columns;
  int partial_sums;  // partial sums that are rounded separately; `begins` divides k among them
  std::int64_t begins[kMaxRanks + 1];

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t row = i / x.n;
    const std::int64_t column = i % x.n;
    if (row < rows.first || row >= rows.end || column < columns.first || column >= columns.end)
      return {kUntouched, 0};
    ProductSums sums;
    double of_partial_sums = 0;
    for (int s = 0; s < partial_sums; ++s) {
      const double before = sums.value;
      for (std::int64_t k = begins[s]; k < begins[s + 1]; ++k)
        sums.add(to_double(x.a[row * x.lda + k]) * to_double(x.b[k * x.ldb + column]));
      of_partial_sums += fabs(sums.value - before);
    }
    return {sums.value, bound.magnitude(sums) +
                            (1 + bound.output_roundoff) * (partial_sums - 1) * of_partial_sums};
  }
};

inline Expected expected(const Problem& p, const Data& d) {
  const Part all{{0, p.m}, {0, p.n}, {0, p.k}};
  const Part result = is_everywhere(p) ? all : own_result(p, d.rank);
  Expected e{contiguous_operands(d.a.of[d.rank], d.b.of[d.rank], p.m, p.n, p.k),
             error_bound(p),
             result.rows,
             result.columns,
             p.split == Split::k ? p.gpus : 1,
             {}};
  for (int s = 0; s < e.partial_sums; ++s)
    e.begins[s + 1] = even_part(p.k, e.partial_sums, s).end;
  return e;
}

inline constexpr const char* kPartialSumDerivation =
    " If k is split, each GPU's partial sum s is rounded to bf16. Algorithms that pass on partial "
    "sums, as NCCL's rings do, round them g - 2 more times over g GPUs, and none of them exceeds "
    "Σ|s|: (g - 1)·u·Σ|s| in total, u = 2^-8 (Higham, Accuracy and Stability of Numerical "
    "Algorithms, section 4.2). The roundings of the partial sums add as much to the RMS error as "
    "one rounding of the result, since their squares sum to its square. Passed-on partial sums "
    "add the RMS error of a sum of g terms (sum_rms).";

}  // namespace gpuexp::tensor_parallel
