// Inputs of attention's backward pass that a forward pass leaves: O, L = log Σ e^s, and P.
//
// Each could only be had by going through all keys. They are made of formulas instead, element by
// element, as large as a forward pass leaves them: kernels take them as the numbers that they are,
// and so does the reference.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention {

/// About log Σ e^s of a row: keys are random numbers of variance 1/3, so that scores have that of
/// scale·|q|/√3, and e^s its half as the logarithm of its mean. Of operations alone that host and
// device round alike.
template <class In>
struct LogSum {
  Uniform<In> q;
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
  Uniform<In> k;
  std::int64_t pitch;
  int heads_of_key;
  float scale_log2;
  __host__ __device__ In operator()(std::int64_t i) const {
    const AllowedKeys& allowed = log_sum.allowed;
    const std::int64_t row = i / pitch;
    const auto key = static_cast<int>(i % pitch);
    const auto query = static_cast<int>(row % allowed.queries);
    if (key < allowed.first(query) || key >= allowed.end(query)) return from_float<In>(0.0f);
    const std::int64_t key_row = first_key(row) + key;
    float dot = 0.0f;
    for (int c = 0; c < log_sum.dim; ++c)
      dot = fmaf(static_cast<float>(log_sum.q(row * log_sum.dim + c)),
                 static_cast<float>(k(key_row * log_sum.dim + c)), dot);
    return of_score(dot, log_sum(row));
  }
  __host__ __device__ std::int64_t first_key(std::int64_t row) const {
    return row / log_sum.allowed.queries / heads_of_key * log_sum.allowed.keys;
  }
  __host__ __device__ In of_score(float dot, float row_log_sum) const {
    return from_float<In>(power(fmaf(dot, scale_log2, -row_log_sum * kLog2E)));
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

/// The keys of one head as numbers, column by column: of a row's weights, all are needed.
template <class In>
const std::vector<float>& columns_of_keys(const Weight<In>& weight, std::int64_t first_key) {
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

/// On the host, what a Weight for each gives. A product of two numbers of 16 bits is exact in fp32,
/// so that a multiplication and an addition round as fmaf does.
template <class In>
void make_weights(const Weight<In>& weight, In* out, std::int64_t first, std::int64_t end) {
  const AllowedKeys& allowed = weight.log_sum.allowed;
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
    const std::vector<float>& columns = columns_of_keys(weight, weight.first_key(row));
    dots.assign(static_cast<std::size_t>(to - from), 0.0f);
    for (int c = 0; c < dim; ++c) {
      const auto x = static_cast<float>(weight.log_sum.q(row * dim + c));
      const float* const column = columns.data() + std::int64_t{c} * allowed.keys + from;
      for (std::size_t j = 0; j < dots.size(); ++j)
        dots[j] += x * column[j];
    }
    const float row_log_sum = weight.log_sum(row);
    for (std::size_t j = 0; j < dots.size(); ++j)
      out[begin + from + static_cast<std::int64_t>(j)] = weight.of_score(dots[j], row_log_sum);
  }
}

template <class In>
Steps fill_weights(In* out, std::int64_t count, const Weight<In>& weight) {
  return with_host_loop(
      fill_on_device(out, count, weight),
      {count, [=](std::int64_t first, std::int64_t end) { make_weights(weight, out, first, end); },
       out, sizeof(In)});
}

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
