// fp64 reference of attention's forward pass, row by row.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/parallel.hpp"
#include "kernels/common/attention_problem.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/pairs.cuh"
#include "kernels/common/philox.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::attention {

constexpr int kMaxDim = 128;

/// Sums over the keys that a row attends to, for weights p = e^(s - max), before the division by
/// the sum of the weights.
struct WeightedSums {
  double value = 0;          ///< Σ p·v
  double absolute = 0;       ///< Σ p·|v|
  double squares = 0;        ///< Σ (p·v)²
  double score_squares = 0;  ///< Σ (p·v·s)² for scaled scores s

  __host__ __device__ void add(double weight, double score, double v) {
    const double term = weight * v;
    value += term;
    absolute += fabs(term);
    squares += term * term;
    score_squares += term * term * score * score;
  }
  __host__ __device__ void scale(double factor) {
    value *= factor;
    absolute *= factor;
    squares *= factor * factor;
    score_squares *= factor * factor;
  }
};

struct OutputBound {
  double rounding;
  double term_error;    ///< relative error of random sign of each term p·v
  double score_error;   ///< error of random sign of each term p·v, relative to p·v·s
  double shared_error;  ///< worst-case error, or error that all weights share, relative to Σ p·|v|
  /// Error of an element of O, divided by `rounding`. `weights` is the sum of the weights.
  __host__ __device__ double magnitude(const WeightedSums& sums, double weights) const {
    return (rounding * fabs(sums.value) + term_error * sqrt(sums.squares) +
            score_error * sqrt(sums.score_squares) + shared_error * sums.absolute) /
           (rounding * weights);
  }
};

/// Error bound of O, derived in kToleranceDerivation. `stored`: S and P are rounded to the stored
/// type in memory.
inline OutputBound output_bound(const Problem& p, bool stored) {
  constexpr double kLambda = 8;
  constexpr double kMaxNorm = kQueryRange;  // maximum √Σ(q·k)² after scaling
  const double u = unit_roundoff(DataType::fp32);
  const double rounding = unit_roundoff(p.dtype);
  const auto keys = static_cast<double>(p.keys);
  const double products = kLambda * u * (tensor_core_steps(p.keys) + std::sqrt(keys));
  const double score =
      kMaxNorm * tensor_core_bound(p.head_dim, DataType::fp32, DataType::fp32).sum_error;
  const double range = kMaxNorm * std::sqrt(static_cast<double>(p.head_dim));
  const double exponent = 3 * u * 2 * range + 0x1p-22;
  return {rounding, kLambda * rounding + products, stored ? kLambda * rounding : 0.0,
          2 * (score + exponent) + keys * u};
}

inline Tolerance output_tolerance(const Problem& p, bool stored) {
  const double rounding = unit_roundoff(p.dtype);
  const double gain = 1 / (1 - p.dropout);
  // Absolute error of fp16 weights and outputs below fp16's smallest normal number.
  const double subnormal = p.dtype == DataType::fp16 ? 0x1p-25 * gain : 0;
  const double keys = std::sqrt(static_cast<double>(p.keys));
  const double variance = kQueryRange * kQueryRange / 9;
  const double score_rms = stored ? std::sqrt(variance + 4 * variance * variance) : 0;
  const double rms = std::hypot(rounding_rms(p.dtype) * std::sqrt(2 + score_rms * score_rms),
                                tensor_core_sum_rms(p.keys, DataType::fp32));
  return {rounding, 8 * subnormal * (keys + 1), kRmsSafety * rms, kRmsSafety * subnormal * keys};
}

inline Tolerance log_sum_tolerance(const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const OutputBound bound = output_bound(p, false);
  return {4 * u, bound.shared_error / 2 + 4 * u, 0.0, bound.shared_error / 2 + 4 * u};
}

inline double reference_operations(const Problem& p) {
  // Per (query, key) pair: kExp; per element of a head: the other constants.
  constexpr double kScore = 2, kSums = 12, kExp = 40;
  const auto dim = static_cast<double>(p.head_dim);
  return static_cast<double>(p.batch * p.heads * attended_pairs(p)) *
         ((2 * kScore + kSums) * dim + 2 * kExp);
}

inline constexpr const char* kToleranceDerivation =
    "u = 2^-24 is the unit roundoff of fp32, U the unit roundoff of the stored type. O is a mean "
    "of values v with weights p. Each weight is rounded to U for the second product, with errors "
    "of random sign. Their sum is below λ·U·√Σ(p·v)², λ = 8, except with probability 2·exp(-λ²/2) "
    "= 2.5e-14 per element (Hoeffding's inequality; Higham and Mary, SIAM J. Sci. Comput. 41(5), "
    "2019). Tensor cores sum the products within λ·u·(S + √keys)·√Σ(p·v)², S = ceil(keys/4) (Fasi, "
    "Higham, Mikaitis, Pranesh, PeerJ Computer Science 7:e330, 2021). A score has the same bound "
    "for head_dim products, whose norm is at most 4 after scaling. An exponential has an error of "
    "3u times its exponent, which is at most 8·√head_dim, plus 2^-22 (PTX ISA, ex2.approx). Each "
    "of the two errors applies to all weights and again to their sum. The sum of the weights loses "
    "at most u per key (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section "
    "4.2). These three errors are relative to Σ p·|v|. O is rounded to U. If S and P are stored in "
    "16 bits, each score is rounded as well. This changes its weight by U·|s| with random sign, "
    "and adds λ·U·√Σ(p·v·s)². Weights below fp16's smallest normal number have an error of 2^-25. "
    "The RMS error, relative to the RMS output, is 0.42·U for O and for P (Knuth). For S it is "
    "0.42·U times the RMS score of the largest weights: scores of variance σ² have a mean of 2σ² "
    "if they are weighted by p². The tolerance allows twice the RMS error. log Σ e^s has the "
    "errors of the scores and of their sum, and a few u.";

/// Number of rows that a host thread computes at a time.
constexpr std::int64_t kHostRows = 16;

template <class In>
struct ReferenceRows {
  Operands<In> x;
  Heads heads;
  int dim;
  OutputBound bound;

  __host__ __device__ double score(std::int64_t head, int query, int key) const {
    const In* const q = x.q + (heads.first_query(head) + query) * dim;
    const In* const k = x.k + (heads.first_key(head) + key) * dim;
    double sum = 0;
    for_pairs(q, k, dim, [&](In of_q, In of_k) { sum += to_double(of_q) * to_double(of_k); });
    return sum / sqrt(static_cast<double>(dim));
  }
  __host__ __device__ double value(std::int64_t head, int key, int column) const {
    return to_double(x.v[(heads.first_key(head) + key) * dim + column]);
  }
  __host__ __device__ bool is_kept(std::int64_t head, int query, int key) const {
    if (heads.dropout == 0) return true;
    const PhiloxWords words =
        philox_words(heads.dropout_seed,
                     dropout_group(heads.first_query(head) + query, heads.allowed.keys, key));
    return words.word[key % 4] >= dropout_threshold(heads.dropout);
  }
  __host__ __device__ double gain() const { return 1 / (1 - static_cast<double>(heads.dropout)); }
};

namespace detail {

/// A block computes one row. Each thread sums at most one column of O, and computes at most one
/// score per tile of kMaxDim keys.
template <class In>
__global__ void __launch_bounds__(kMaxDim)
    reference_kernel(ReferenceRows<In> rows, ReferenceView o, ReferenceView log_sum) {
  __shared__ double weights[kMaxDim];
  __shared__ double scores[kMaxDim];
  const std::int64_t row = blockIdx.x;
  const std::int64_t head = row / rows.heads.allowed.queries;
  const int query = static_cast<int>(row % rows.heads.allowed.queries);
  const std::int64_t first_element = row * rows.dim;
  const bool needs_o =
      o.value && (o.draw.has(first_element) || o.draw.has(first_element + rows.dim - 1));
  const bool needs_log_sum = log_sum.value && log_sum.draw.has(row);
  if (!needs_o && !needs_log_sum) return;
  const int thread = threadIdx.x;
  const int end = rows.heads.allowed.end(query);
  double max = -HUGE_VAL;
  double sum = 0;
  WeightedSums sums;
  for (int key = rows.heads.allowed.first(query); key < end; key += kMaxDim) {
    const bool in_bounds = key + thread < end;
    __syncthreads();
    scores[thread] = in_bounds ? rows.score(head, query, key + thread) : -HUGE_VAL;
    __syncthreads();
    double larger = max;
    for (int i = 0; i < kMaxDim; ++i)
      larger = fmax(larger, scores[i]);
    const double factor = exp(max - larger);
    max = larger;
    weights[thread] = in_bounds ? exp(scores[thread] - max) : 0;
    __syncthreads();
    sum *= factor;
    sums.scale(factor);
    const int count = end - key < kMaxDim ? end - key : kMaxDim;
    for (int i = 0; i < count; ++i) {
      sum += weights[i];
      if (needs_o && thread < rows.dim && rows.is_kept(head, query, key + i))
        sums.add(weights[i], scores[i], rows.value(head, key + i, thread));
    }
  }
  if (needs_o && thread < rows.dim && o.draw.has(first_element + thread)) {
    o.value[first_element + thread] = sum > 0 ? rows.gain() * sums.value / sum : 0;
    o.magnitude[first_element + thread] =
        sum > 0 ? rows.gain() * rows.bound.magnitude(sums, sum) : 0;
  }
  if (needs_log_sum && thread == 0) {
    log_sum.value[row] = sum > 0 ? max + log(sum) : -HUGE_VAL;
    log_sum.magnitude[row] = sum > 0 ? fabs(max) + fabs(log(sum)) : 0;
  }
}

struct HostRow {
  std::array<ReferenceElement, kMaxDim> o;
  ReferenceElement log_sum;
};

template <class In>
HostRow host_row(const ReferenceRows<In>& rows, std::int64_t row) {
  const std::int64_t head = row / rows.heads.allowed.queries;
  const int query = static_cast<int>(row % rows.heads.allowed.queries);
  const int first = rows.heads.allowed.first(query);
  const int end = rows.heads.allowed.end(query);
  std::vector<double> scores;
  for (int key = first; key < end; ++key)
    scores.push_back(rows.score(head, query, key));
  HostRow found{};
  found.log_sum = {-HUGE_VAL, 0};
  if (scores.empty()) return found;
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::array<WeightedSums, kMaxDim> sums;
  for (int key = first; key < end; ++key) {
    const double score = scores[static_cast<std::size_t>(key - first)];
    const double weight = std::exp(score - max);
    sum += weight;
    if (!rows.is_kept(head, query, key)) continue;
    for (int column = 0; column < rows.dim; ++column)
      sums[static_cast<std::size_t>(column)].add(weight, score, rows.value(head, key, column));
  }
  for (std::size_t column = 0; column < static_cast<std::size_t>(rows.dim); ++column)
    found.o[column] = {rows.gain() * sums[column].value / sum,
                       rows.gain() * rows.bound.magnitude(sums[column], sum)};
  found.log_sum = {max + std::log(sum), std::abs(max) + std::abs(std::log(sum))};
  return found;
}

/// Caches rows computed on the host, because several threads request elements of the same row.
template <class In>
class HostRows {
 public:
  explicit HostRows(const ReferenceRows<In>& rows) : rows_(rows) {}
  const HostRow& at(std::int64_t row) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = kept_.find(row);
      if (found != kept_.end()) return found->second;
    }
    const HostRow made = host_row(rows_, row);
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_.emplace(row, made).first->second;
  }
  void outputs(const ReferenceView& o, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const ReferenceElement element = at(i / rows_.dim).o[static_cast<std::size_t>(i % rows_.dim)];
      o.value[i] = element.value;
      o.magnitude[i] = element.magnitude;
    }
  }
  void log_sums(const ReferenceView& log_sum, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const ReferenceElement element = at(i).log_sum;
      log_sum.value[i] = element.value;
      log_sum.magnitude[i] = element.magnitude;
    }
  }

 private:
  ReferenceRows<In> rows_;
  std::mutex mutex_;
  std::map<std::int64_t, HostRow> kept_;
};

}  // namespace detail

/// Computes O and the log-sum-exp of each row. An empty view skips its output.
template <class In>
Steps evaluate_rows(const ReferenceRows<In>& rows, const ReferenceView& o,
                    const ReferenceView& log_sum) {
  const std::int64_t count =
      static_cast<std::int64_t>(rows.heads.heads) * rows.heads.allowed.queries;
  const Shape s = shape_of_blocks(count, kMaxDim);
  const auto kept = std::make_shared<detail::HostRows<In>>(rows);
  const auto kernel = [&](const ReferenceView& of_o, const ReferenceView& of_log_sum) {
    return launch(detail::reference_kernel<In>, s, rows, of_o, of_log_sum);
  };
  Steps steps;
  if (o)
    steps += with_host_loop(
        kernel(o, {}), {count * rows.dim,
                        [=](std::int64_t first, std::int64_t end) { kept->outputs(o, first, end); },
                        o.value, sizeof(double)});
  if (log_sum)
    steps += with_host_loop(
        kernel({}, log_sum),
        {count, [=](std::int64_t first, std::int64_t end) { kept->log_sums(log_sum, first, end); },
         log_sum.value, sizeof(double)});
  return steps;
}
template <class In>
void evaluate_rows_on_host(const ReferenceRows<In>& rows, const ReferenceView& o,
                           const ReferenceView& log_sum) {
  detail::HostRows<In> kept(rows);
  const std::int64_t count =
      static_cast<std::int64_t>(rows.heads.heads) * rows.heads.allowed.queries;
  for_parts(host_threads(), count, kHostRows, [&](std::int64_t first, std::int64_t end) {
    if (o) kept.outputs(o, first * rows.dim, end * rows.dim);
    if (log_sum) kept.log_sums(log_sum, first, end);
  });
}

}  // namespace gpuexp::attention
