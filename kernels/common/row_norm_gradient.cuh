// Gradients of LayerNorm and RMSNorm: the kernels for training steps, and the reference.
#pragma once

#include "kernels/common/row_norm.cuh"

namespace gpuexp {

/// Arrays of LayerNorm's backward pass, which uses the kernels of the variant block_partials of
/// kernels/normalization_backward.cu. Rows have at most kMaxNormGradientColumns columns.
template <class T>
struct LayerNormGradient {
  const T* x;
  const T* dy;
  const T* gamma;
  const float* mean;
  const float* rstd;
  const T* residual;  ///< added to dx, unless null
  T* dx;              ///< if null, only the gradients of the weights are computed
  float* dweights;    ///< gradients of γ, followed by gradients of β
};
/// The maximum for fp32; for 16-bit types, the kernels could process twice this number.
inline constexpr std::int64_t kMaxNormGradientColumns = 4096;

/// Size of layer_norm_gradient's workspace in bytes.
std::int64_t norm_gradient_bytes(const NormProblem& p, const DeviceSpec& device);
template <class T>
Steps layer_norm_gradient(const NormProblem& p, const LayerNormGradient<T>& x,
                          const LaunchContext& context);

// ---- the reference

/// Error bound of a gradient before it is rounded to the stored type, relative to the magnitudes
/// that ExactNormGradient returns. Derived in kernels/normalization_backward.cu.
inline double norm_gradient_computed(std::int64_t columns) {
  return (static_cast<double>(row_additions(columns)) + 10) * kNormRoundoff;
}
/// Error bound of a stored gradient, relative to the same magnitudes.
inline double norm_gradient_error(const NormProblem& p) {
  const double computed = norm_gradient_computed(p.columns);
  return computed + unit_roundoff(p.dtype) * (1 + computed);
}

/// Σ t and Σ t·x̂ of a row, where t = γ·dy, and Σ |t| and Σ |t·x̂|.
struct ExactMeans {
  double t;
  double product;
  double absolute_t;
  double absolute_product;
  __host__ __device__ static ExactMeans combined(const ExactMeans& a, const ExactMeans& b) {
    return {a.t + b.t, a.product + b.product, a.absolute_t + b.absolute_t,
            a.absolute_product + b.absolute_product};
  }
};

template <class T>
struct ExactNormGradient {
  using Common = ExactMeans;
  const T* x;
  const T* dy;
  const T* gamma;
  const float* mean;
  const float* rstd;
  std::int64_t rows;
  std::int64_t columns;
  Norm norm;
  __host__ __device__ double normed(std::int64_t row, std::int64_t column) const {
    const double from = norm == Norm::layer ? to_double(mean[row]) : 0.0;
    return (to_double(x[row * columns + column]) - from) * to_double(rstd[row]);
  }
  __host__ __device__ double weighed(std::int64_t row, std::int64_t column) const {
    return to_double(gamma[column]) * to_double(dy[row * columns + column]);
  }
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    ExactMeans found{};
    for (std::int64_t i = first; i < columns; i += step) {
      const double t = weighed(row, i), product = t * normed(row, i);
      found = ExactMeans::combined(found, {t, product, fabs(t), fabs(product)});
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const double t = weighed(row, column), x_hat = normed(row, column);
    const auto n = static_cast<double>(columns);
    const double mean_t = norm == Norm::layer ? of_row.t / n : 0.0;
    const double absolute_t = norm == Norm::layer ? of_row.absolute_t / n : 0.0;
    const double scale = to_double(rstd[row]);
    return {scale * (t - mean_t - x_hat * of_row.product / n),
            scale * (fabs(t) + absolute_t + fabs(x_hat) * of_row.absolute_product / n)};
  }
};

/// Weight gradients, sums over the rows: gradients of γ, followed by gradients of β.
template <class T>
struct NormWeightSum {
  ExactNormGradient<T> of;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const bool is_gamma = i < of.columns;
    const std::int64_t column = i % of.columns;
    ReferenceElement sum{0.0, 0.0};
    for (std::int64_t row = 0; row < of.rows; ++row) {
      const double dy = to_double(of.dy[row * of.columns + column]);
      const double term = is_gamma ? dy * of.normed(row, column) : dy;
      sum.value += term;
      sum.magnitude += fabs(term);
    }
    return sum;
  }
};

}  // namespace gpuexp
