// Inputs of attention's backward pass that a forward pass leaves: O, L = log Σ e^s, and P.
//
// Each could only be had by going through all keys. They are made of formulas instead, element by
// element, as large as a forward pass leaves them: kernels take them as the numbers that they are,
// and so does the reference.
#pragma once

#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention {

/// About log Σ e^s of a row: keys are random numbers of variance 1/3, so that scores have that of
/// scale·|q|/√3, and e^s its half as the logarithm of its mean. Of operations alone that host and
// device round alike.
template <class In>
struct LogSum {
  ScaledUniform<In> q;
  AllowedKeys allowed;
  int dim;
  float half_variance;  // for each of the row's squares
  __host__ __device__ float operator()(std::int64_t row) const {
    const auto query = static_cast<int>(row % allowed.queries);
    const int count = allowed.end(query) - allowed.first(query);
    if (count == 0) return -INFINITY;
    int digits = 0;
    while (count >> (digits + 1) != 0)
      ++digits;
    // log₂ between powers of two along a straight line.
    const float log2 = static_cast<float>(digits - 1) +
                       static_cast<float>(count) / static_cast<float>(1u << digits);
    float squares = 0.0f;
    for (int i = 0; i < dim; ++i) {
      const auto x = static_cast<float>(q(row * dim + i));
      squares = fmaf(x, x, squares);
    }
    return fmaf(squares, half_variance, log2 * kLn2);
  }
};

template <class In>
LogSum<In> log_sum_of(const Problem& p, std::uint64_t seed) {
  return {query_values<In>(seed), allowed_keys(p), static_cast<int>(p.head_dim),
          1.0f / static_cast<float>(6 * p.head_dim)};
}

// P of a row and a key, in the same way; 0 where the query does not see the key.
template <class In>
struct Weight {
  LogSum<In> log_sum;
  SignedUniform<In> k;
  std::int64_t pitch;
  int heads_of_key;
  float scale_log2;
  __host__ __device__ In operator()(std::int64_t i) const {
    const AllowedKeys& allowed = log_sum.allowed;
    const std::int64_t row = i / pitch;
    const auto key = static_cast<int>(i % pitch);
    const auto query = static_cast<int>(row % allowed.queries);
    if (key < allowed.first(query) || key >= allowed.end(query)) return from_float<In>(0.0f);
    const std::int64_t key_row = row / allowed.queries / heads_of_key * allowed.keys + key;
    float dot = 0.0f;
    for (int c = 0; c < log_sum.dim; ++c)
      dot = fmaf(static_cast<float>(log_sum.q(row * log_sum.dim + c)),
                 static_cast<float>(k(key_row * log_sum.dim + c)), dot);
    return from_float<In>(power(fmaf(dot, scale_log2, -log_sum(row) * kLog2E)));
  }
  // 2^x: Taylor's series of e^(x·ln 2) within half a unit, whose rest is below 2^-23.
  __host__ __device__ static float power(float x) {
    const float whole = rintf(x);
    const float part = (x - whole) * kLn2;
    constexpr int kTerms = 8;
    float sum = 1.0f;
    for (int i = kTerms; i > 0; --i)
      sum = fmaf(sum * part, 1.0f / static_cast<float>(i), 1.0f);
    return ldexpf(sum, static_cast<int>(whole));
  }
};

// 1.6·√keys is what e^(largest variance) leaves of the mean of so many values.
inline float output_range(const Problem& p) {
  return std::exp2(std::round(1.0f - 0.5f * std::log2(static_cast<float>(p.keys))));
}

/// More weights than this are not made ready for a variant that reads them.
constexpr std::int64_t kMostStored = std::int64_t{1} << 30;

inline std::int64_t stored_pitch(const Problem& p) {
  return ceil_div(p.keys, 8) * 8;
}
inline std::int64_t stored_weights(const Problem& p) {
  const std::int64_t weights = p.rows() * stored_pitch(p);
  return weights <= kMostStored ? weights : 0;
}

}  // namespace gpuexp::attention
