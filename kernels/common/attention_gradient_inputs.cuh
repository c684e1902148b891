// Inputs of attention's backward pass that a forward pass computes: O, L = log Σ e^s, and P.
//
// Exact values would require a pass over all keys. Formulas generate each element instead, in the
// range of a forward pass's results. Kernels and the reference use the same generated values.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention {

/// Approximate log Σ e^s of a row, from operations that host and device round identically. Keys
/// are random with variance 1/3, so scores have a standard deviation of scale·|q|/√3. For normally
/// distributed s, the logarithm of the mean of e^s is half of the variance of s.
template <class In>
struct LogSum {
  Uniform<In> q;
  AttendedKeys allowed;
  int dim;
  float half_variance;  // half of a score's variance, divided by |q|²
  __host__ __device__ float operator()(std::int64_t row) const {
    const auto query = static_cast<int>(row % allowed.queries);
    const int count = allowed.end(query) - allowed.first(query);
    if (count == 0) return -INFINITY;
    int digits = 0;
    while (count >> (digits + 1) != 0)
      ++digits;
    // Linear interpolation of log₂ between powers of two.
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

// Approximate P of a row and a key; 0 if the query does not attend to the key.
template <class In>
struct Weight {
  LogSum<In> log_sum;
  Uniform<In> k;
  std::int64_t pitch;
  int heads_of_key;
  float scale_log2;
  __host__ __device__ In operator()(std::int64_t i) const {
    const AttendedKeys& allowed = log_sum.allowed;
    const std::int64_t row = i / pitch;
    const auto key = static_cast<int>(i % pitch);
    const auto query = static_cast<int>(row % allowed.queries);
    if (key < allowed.first(query) || key >= allowed.end(query)) return from_float<In>(0.0f);
    const std::int64_t key_row = first_key(row) + key;
    float dot = 0.0f;
    for (int c = 0; c < log_sum.dim; ++c)
      dot = fmaf(static_cast<float>(log_sum.q(row * log_sum.dim + c)),
                 static_cast<float>(k(key_row * log_sum.dim + c)), dot);
    return from_score(dot, log_sum(row));
  }
  __host__ __device__ std::int64_t first_key(std::int64_t row) const {
    return row / log_sum.allowed.queries / heads_of_key * log_sum.allowed.keys;
  }
  __host__ __device__ In from_score(float dot, float row_log_sum) const {
    return from_float<In>(power(fmaf(dot, scale_log2, -row_log_sum * kLog2E)));
  }
  // 2^x. A Taylor series computes e^(x·ln 2) of the fractional part, within ±1/2, with a
  // remainder below 2^-23.
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

/// Keys of one head in fp32, stored column by column. Each host thread caches the last head.
template <class In>
const std::vector<float>& key_columns(const Weight<In>& weight, std::int64_t first_key) {
  struct Kept {
    std::uint64_t seed = 0;
    std::int64_t first = -1;
    std::int64_t dim = 0;
    std::vector<float> columns;
  };
  thread_local Kept kept;
  const std::int64_t keys = weight.log_sum.allowed.keys, dim = weight.log_sum.dim;
  const auto count = static_cast<std::size_t>(keys * dim);
  if (kept.seed != weight.k.seed || kept.first != first_key || kept.dim != dim ||
      kept.columns.size() != count) {
    kept = {weight.k.seed, first_key, dim, std::vector<float>(count)};
    for (std::int64_t key = 0; key < keys; ++key) {
      for (std::int64_t c = 0; c < dim; ++c)
        kept.columns[static_cast<std::size_t>(c * keys + key)] =
            static_cast<float>(weight.k((first_key + key) * dim + c));
    }
  }
  return kept.columns;
}

/// Host loop that stores the elements first to end - 1 of a Weight. A product of two 16-bit values
/// is exact in fp32, so a multiplication and an addition round like fmaf.
template <class In>
void make_weights(const Weight<In>& weight, In* out, std::int64_t first, std::int64_t end) {
  const AttendedKeys& allowed = weight.log_sum.allowed;
  const int dim = weight.log_sum.dim;
  std::vector<float> dots;
  for (std::int64_t row = first / weight.pitch; first < end; ++row) {
    const std::int64_t begin = row * weight.pitch;
    const std::int64_t row_end = std::min(end, begin + weight.pitch);
    std::fill(out + first, out + row_end, from_float<In>(0.0f));
    const auto query = static_cast<int>(row % allowed.queries);
    const std::int64_t from = std::max<std::int64_t>(first - begin, allowed.first(query));
    const std::int64_t to = std::min<std::int64_t>(row_end - begin, allowed.end(query));
    first = row_end;
    if (from >= to) continue;
    const std::vector<float>& columns = key_columns(weight, weight.first_key(row));
    dots.assign(static_cast<std::size_t>(to - from), 0.0f);
    for (int c = 0; c < dim; ++c) {
      const auto x = static_cast<float>(weight.log_sum.q(row * dim + c));
      const float* const column = columns.data() + std::int64_t{c} * allowed.keys + from;
      for (std::size_t j = 0; j < dots.size(); ++j)
        dots[j] += x * column[j];
    }
    const float row_log_sum = weight.log_sum(row);
    for (std::size_t j = 0; j < dots.size(); ++j)
      out[begin + from + static_cast<std::int64_t>(j)] = weight.from_score(dots[j], row_log_sum);
  }
}

template <class In>
Steps fill_weights(In* out, std::int64_t count, const Weight<In>& weight) {
  return with_host_loop(
      fill_on_device(out, count, weight),
      {count, [=](std::int64_t first, std::int64_t end) { make_weights(weight, out, first, end); },
       out, sizeof(In)});
}

// Range of the generated O: the power of two nearest to 2/√keys, as for a weighted mean of random
// values.
inline float output_range(const Problem& p) {
  return std::exp2(std::round(1.0f - 0.5f * std::log2(static_cast<float>(p.keys))));
}

/// Maximum number of weights that are generated for a variant that loads them.
constexpr std::int64_t kMaxStored = std::int64_t{1} << 30;

inline std::int64_t stored_pitch(const Problem& p) {
  return ceil_div(p.keys, 8) * 8;
}
inline std::int64_t stored_weights(const Problem& p) {
  const std::int64_t weights = p.rows() * stored_pitch(p);
  return weights <= kMaxStored ? weights : 0;
}

}  // namespace gpuexp::attention
