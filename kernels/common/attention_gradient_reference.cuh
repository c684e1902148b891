// fp64 reference of attention's backward pass. A row of dQ is a sum over keys; a row of dK or dV
// is a sum over queries.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/common/attention_reference.cuh"

namespace gpuexp::attention {

enum class Gradient { of_q, of_k, of_v };

/// Coefficients of the error bound of a gradient. D is Σ dO·O of a query.
struct GradientBound {
  double rounding;
  double term_error;     ///< relative error of random sign of each term
  double weight_error;   ///< maximum relative error of a weight
  double product_error;  ///< maximum error of dP, relative to √Σ(dO·V)²
  double delta_error;    ///< maximum error of D, relative to Σ|dO·O|
  double stored_error;   ///< relative error of random sign of P·dP and of P·(dP - D), if P and dP
                         ///< are stored
};

/// Error bound of a gradient that is a sum of `terms` products, derived in kGradientDerivation.
/// `stored`: P and dP are rounded to the stored type in memory.
inline GradientBound gradient_bound(const Problem& p, std::int64_t terms, bool stored) {
  constexpr double kLambda = 8;
  const double u = unit_roundoff(DataType::fp32);
  const double rounding = unit_roundoff(p.dtype);
  const OutputBound forward = output_bound(p, false);
  const auto dim = static_cast<double>(p.head_dim);
  const double steps = tensor_core_steps(terms) + std::sqrt(static_cast<double>(terms));
  // The factor 2 covers the roundings of atomic additions of several blocks' sums.
  const double products = kLambda * u * 2 * steps;
  return {rounding,
          kLambda * rounding + products,
          forward.shared_error + 4 * u,
          tensor_core_bound(p.head_dim, DataType::fp32, DataType::fp32).sum_error,
          dim * u,
          stored ? kLambda * rounding : 0.0};
}

inline std::int64_t gradient_terms(const Problem& p, Gradient of) {
  return of == Gradient::of_q ? p.keys : p.queries * p.group;
}

inline Tolerance gradient_tolerance(const Problem& p, Gradient of, bool stored) {
  const double rounding = unit_roundoff(p.dtype);
  const std::int64_t terms = gradient_terms(p, of);
  const double root = std::sqrt(static_cast<double>(terms));
  // Absolute error of fp16 factors and results below fp16's smallest normal number.
  const double largest = (of == Gradient::of_k ? kQueryRange : 1.0) / (1 - p.dropout);
  const double subnormal = p.dtype == DataType::fp16 ? 0x1p-25 * largest : 0;
  constexpr double kLambda = 8;
  const int roundings = stored ? 4 : 2;
  const double rms = std::hypot(rounding_rms(p.dtype) * std::sqrt(roundings),
                                tensor_core_sum_rms(terms, DataType::fp32));
  return {rounding, kLambda * subnormal * (root + 1), kRmsSafety * rms,
          kRmsSafety * subnormal * root};
}

inline double gradient_operations(const Problem& p) {
  constexpr double kOutputs = 3, kPair = 10, kSums = 16, kExp = 40;
  const auto dim = static_cast<double>(p.head_dim);
  return static_cast<double>(p.batch * p.heads * attended_pairs(p)) * kOutputs *
         ((kPair + kSums) * dim + kExp);
}

inline constexpr const char* kGradientDerivation =
    "u = 2^-24 is the unit roundoff of fp32, U the unit roundoff of the stored type. Each gradient "
    "is a sum of products. One factor of each product, P or dS, is rounded to U with errors of "
    "random sign. Their sum is below λ·U·√Σt² for terms t, λ = 8, except with probability "
    "2·exp(-λ²/2) = 2.5e-14 per element (Hoeffding's inequality; Higham and Mary, SIAM J. Sci. "
    "Comput. 41(5), 2019). Tensor cores sum n terms within λ·u·(S + √n)·√Σt², S = ceil(n/4) (Fasi, "
    "Higham, Mikaitis, Pranesh, PeerJ Computer Science 7:e330, 2021). Adding the sums of tiles "
    "needs fewer roundings than this, so twice the bound is allowed. A weight has the errors of "
    "its score and its exponential, as in the forward pass. dP has the same bound for head_dim "
    "products, and D an error of head_dim·u·Σ|dO·O| (Higham, Accuracy and Stability of Numerical "
    "Algorithms, 2nd ed., section 4.2). These errors enter dS = P·(dP - D), and the bound adds "
    "their worst cases. Results are rounded to U. If P is loaded from memory in 16 bits, its "
    "rounding changes dS by U as well. Factors below fp16's smallest normal number have an error "
    "of 2^-25. The RMS error, relative to the RMS gradient, whose terms have random signs, is "
    "0.42·U per rounding (Knuth). The tolerance allows twice this error.";

/// Factors of the gradients' terms for a query and a key to which it attends.
struct GradientPair {
  double kept;  ///< P after dropout: 0, or P / (1 - dropout)
  double difference;
  double error;   ///< maximum error of dS
  double stored;  ///< √(P²·(dP² + (dP - D)²)), the scale of errors if P and dP are rounded
};

struct GradientSums {
  double value = 0;
  double squares = 0;
  double error = 0;
  double stored = 0;
};

template <class In>
struct GradientRows {
  ReferenceRows<In> forward;
  const In* o;
  const In* d_o;
  const float* log_sum;
  GradientBound bound;

  __host__ __device__ const AttendedKeys& allowed() const { return forward.heads.allowed; }
  __host__ __device__ GradientPair pair(std::int64_t head, int query, int key) const {
    const std::int64_t row = forward.heads.first_query(head) + query;
    const int dim = forward.dim;
    double product = 0, squares = 0, delta = 0, absolute = 0;
    const In* const v = forward.x.v + (forward.heads.first_key(head) + key) * dim;
    for_pairs(d_o + row * dim, v, dim, [&](In of_d_o, In of_v) {
      const double term = to_double(of_d_o) * to_double(of_v);
      product += term;
      squares += term * term;
    });
    for_pairs(d_o + row * dim, o + row * dim, dim, [&](In of_d_o, In of_o) {
      const double term = to_double(of_d_o) * to_double(of_o);
      delta += term;
      absolute += fabs(term);
    });
    const double weight = exp(forward.score(head, query, key) - static_cast<double>(log_sum[row]));
    const double gain = forward.is_kept(head, query, key) ? forward.gain() : 0.0;
    const double change = gain * product - delta;
    return {gain * weight, weight * change,
            weight * (bound.weight_error * fabs(change) +
                      bound.product_error * gain * sqrt(squares) + bound.delta_error * absolute),
            weight * sqrt(product * product + change * change)};
  }

  /// Adds a pair's term to the sums of the element in column `column`.
  __host__ __device__ void add(Gradient of, const GradientPair& pair, std::int64_t head, int query,
                               int key, int column, GradientSums& sums) const {
    const std::int64_t row = forward.heads.first_query(head) + query;
    const std::int64_t key_row = forward.heads.first_key(head) + key;
    const int dim = forward.dim;
    if (of == Gradient::of_v) {
      const double term = pair.kept * to_double(d_o[row * dim + column]);
      sums.value += term;
      sums.squares += term * term;
      sums.error += bound.weight_error * fabs(term);
      return;
    }
    const double other = to_double(of == Gradient::of_q ? forward.x.k[key_row * dim + column]
                                                        : forward.x.q[row * dim + column]);
    const double scaled = other / sqrt(static_cast<double>(dim));
    const double term = pair.difference * scaled;
    sums.value += term;
    sums.squares += term * term;
    sums.error += pair.error * fabs(scaled);
    sums.stored += pair.stored * pair.stored * scaled * scaled;
  }

  __host__ __device__ ReferenceElement element(const GradientSums& sums) const {
    const double error =
        bound.term_error * sqrt(sums.squares) + sums.error + bound.stored_error * sqrt(sums.stored);
    return {sums.value, fabs(sums.value) + error / bound.rounding};
  }

  __host__ __device__ bool attends(int query, int key) const {
    return key >= allowed().first(query) && key < allowed().end(query);
  }
};

namespace detail {

/// A block computes one row of the gradient. Each thread sums at most one column, and computes at
/// most one pair per tile of kMaxDim queries or keys.
template <class In>
__global__ void __launch_bounds__(kMaxDim)
    gradient_kernel(GradientRows<In> rows, Gradient of, ReferenceView out) {
  __shared__ GradientPair pairs[kMaxDim];
  const Heads& heads = rows.forward.heads;
  const int dim = rows.forward.dim;
  const std::int64_t row = blockIdx.x;
  const std::int64_t first_element = row * dim;
  if (!out.draw.has(first_element) && !out.draw.has(first_element + dim - 1)) return;
  const bool is_of_query = of == Gradient::of_q;
  const std::int64_t length = is_of_query ? heads.allowed.queries : heads.allowed.keys;
  const auto own = static_cast<int>(row % length);
  const int thread = threadIdx.x;
  const int others = is_of_query ? heads.allowed.keys : heads.allowed.queries;
  GradientSums sums;
  for (int member = 0; member < (is_of_query ? 1 : heads.group); ++member) {
    const std::int64_t head = is_of_query ? row / length : row / length * heads.group + member;
    for (int other = 0; other < others; other += kMaxDim) {
      const int count = others - other < kMaxDim ? others - other : kMaxDim;
      const int at = other + thread;
      const int query = is_of_query ? own : at, key = is_of_query ? at : own;
      const bool in_bounds = thread < count && rows.attends(query, key);
      if (!__syncthreads_or(in_bounds)) continue;
      pairs[thread] = in_bounds ? rows.pair(head, query, key) : GradientPair{};
      __syncthreads();
      for (int i = 0; thread < dim && i < count; ++i)
        rows.add(of, pairs[i], head, is_of_query ? own : other + i, is_of_query ? other + i : own,
                 thread, sums);
    }
  }
  if (thread < dim && out.draw.has(first_element + thread)) {
    const ReferenceElement element = rows.element(sums);
    out.value[first_element + thread] = element.value;
    out.magnitude[first_element + thread] = element.magnitude;
  }
}

using HostGradientRow = std::array<ReferenceElement, kMaxDim>;

template <class In>
HostGradientRow host_gradient_row(const GradientRows<In>& rows, Gradient of, std::int64_t row) {
  const Heads& heads = rows.forward.heads;
  const bool is_of_query = of == Gradient::of_q;
  const std::int64_t length = is_of_query ? heads.allowed.queries : heads.allowed.keys;
  const auto own = static_cast<int>(row % length);
  std::array<GradientSums, kMaxDim> sums;
  for (int member = 0; member < (is_of_query ? 1 : heads.group); ++member) {
    const std::int64_t head = is_of_query ? row / length : row / length * heads.group + member;
    const int others = is_of_query ? heads.allowed.keys : heads.allowed.queries;
    for (int other = 0; other < others; ++other) {
      const int query = is_of_query ? own : other, key = is_of_query ? other : own;
      if (!rows.attends(query, key)) continue;
      const GradientPair pair = rows.pair(head, query, key);
      for (int column = 0; column < rows.forward.dim; ++column)
        rows.add(of, pair, head, query, key, column, sums[static_cast<std::size_t>(column)]);
    }
  }
  HostGradientRow found{};
  for (std::size_t column = 0; column < found.size(); ++column)
    found[column] = rows.element(sums[column]);
  return found;
}

/// Caches rows computed on the host, because several threads request elements of the same row.
template <class In>
class HostGradient {
 public:
  HostGradient(const GradientRows<In>& rows, Gradient of, const ReferenceView& out)
      : rows_(rows), of_(of), out_(out) {}
  void run(std::int64_t first, std::int64_t end) {
    const int dim = rows_.forward.dim;
    for (std::int64_t i = first; i < end; ++i) {
      const ReferenceElement element = row(i / dim)[static_cast<std::size_t>(i % dim)];
      out_.value[i] = element.value;
      out_.magnitude[i] = element.magnitude;
    }
  }

 private:
  const HostGradientRow& row(std::int64_t index) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = kept_.find(index);
      if (found != kept_.end()) return found->second;
    }
    const HostGradientRow made = host_gradient_row(rows_, of_, index);
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_.emplace(index, made).first->second;
  }

  GradientRows<In> rows_;
  Gradient of_;
  ReferenceView out_;
  std::mutex mutex_;
  std::map<std::int64_t, HostGradientRow> kept_;
};

template <class In>
std::int64_t gradient_rows(const GradientRows<In>& rows, Gradient of) {
  const Heads& heads = rows.forward.heads;
  const std::int64_t count = heads.heads;
  return of == Gradient::of_q ? count * heads.allowed.queries
                              : count / heads.group * heads.allowed.keys;
}

}  // namespace detail

template <class In>
Steps evaluate_gradient(const GradientRows<In>& rows, Gradient of, const ReferenceView& out) {
  const Shape s = shape_of_blocks(detail::gradient_rows(rows, of), kMaxDim);
  const auto on_host = std::make_shared<detail::HostGradient<In>>(rows, of, out);
  return with_host_loop(launch(detail::gradient_kernel<In>, s, rows, of, out),
                        {s.grid.x * rows.forward.dim,
                         [=](std::int64_t first, std::int64_t end) { on_host->run(first, end); },
                         out.value, sizeof(double)});
}

template <class In>
void evaluate_gradient_on_host(const GradientRows<In>& rows, Gradient of,
                               const ReferenceView& out) {
  detail::HostGradient<In> gradient(rows, of, out);
  for_parts(host_threads(), detail::gradient_rows(rows, of), kHostRows,
            [&](std::int64_t first, std::int64_t end) {
              gradient.run(first * rows.forward.dim, end * rows.forward.dim);
            });
}

}  // namespace gpuexp::attention
