// References of products in training, by what the device found before each, and what these may
// differ by.
#pragma once

#include "kernels/common/gelu_slope.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::training {

/// Errors of sums of k products of T, and of what is rounded to T behind them.
struct ProductError {
  bool on_tensor_cores;
  double of_sum;    ///< of √Σp² of products p on tensor cores, of Σ|p| otherwise
  double of_value;  ///< of |Σp|, on tensor cores
  double stored;    ///< unit roundoff of T

  /// What the sum may be off by, of products that are whole.
  __host__ __device__ double operator()(const ProductSums& sums) const {
    return on_tensor_cores ? of_sum * sqrt(sums.squares) + of_value * fabs(sums.value)
                           : of_sum * sums.absolute;
  }
};

/// Behind kTensorCoreBoundDerivation, whose products have random signs.
inline constexpr const char* kMeanDerivation =
    " Products of activations and gradients need not: those of all rows have a mean, so that the "
    "running sum grows towards the result besides its random walk. Half of the result on average, "
    "of which each of S steps cuts off less than 2u: u·S·|value| is added to the bound.";

inline ProductError product_error(DataType type, std::int64_t k) {
  if (type == DataType::fp32)
    return {false, fp32_sum_tolerance(k).relative, 0.0, unit_roundoff(type)};
  return {true, tensor_core_bound(k, DataType::fp32, type).sum_error,
          unit_roundoff(DataType::fp32) * tensor_core_steps(k), unit_roundoff(type)};
}

/// The RMS error of such a sum over the RMS sum.
inline double product_rms(DataType type, std::int64_t k) {
  return type == DataType::fp32 ? sum_rms(k, type) : tensor_core_sum_rms(k, DataType::fp32);
}

/// Σ a(i)·b(i) over i < k.
template <class A, class B>
__host__ __device__ ProductSums sum_of_products(std::int64_t k, const A& a, const B& b) {
  ProductSums sums;
  for (std::int64_t i = 0; i < k; ++i)
    sums.add(a(i) * b(i));
  return sums;
}

/// GELU and its slope as kernels find them, by fast_sigmoid, with what they may be off by.
struct ExactGelu {
  ReferenceElement value, slope;
};
__host__ __device__ inline ExactGelu exact_gelu(double x) {
  constexpr double kRoundoff = 0x1p-24;
  const auto g = gelu_slope(x, [](double z) { return exact_sigmoid(z); });
  const double z = fabs(x) * g.z_slope;  // at least
  // __expf is off by 2 + 1.173·|z| ulp (CUDA C++ Programming Guide), its argument by 3 roundings,
  // __fdividef by 2 ulp, the sum by a rounding; 4 more follow.
  const double error = (14.0 + 6.0 * z) * kRoundoff;
  return {{x * g.s, error * fabs(x * g.s)},
          {g.first + g.second, error * g.s * (1.0 + fabs(x) * g.z_slope)}};
}

}  // namespace gpuexp::training
