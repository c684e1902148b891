// References and error bounds of products in training. References are computed from the device's
// own operands.
#pragma once

#include "kernels/common/gelu_slope.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::training {

/// Error bounds of sums of k products of type T, and of rounding to T.
struct ProductError {
  bool on_tensor_cores;
  double of_sum;    ///< relative to √Σp² of products p on tensor cores, to Σ|p| otherwise
  double of_value;  ///< relative to |Σp|; only on tensor cores
  double stored;

  /// Error bound of the sum, compared with the sum of exact products.
  __host__ __device__ double operator()(const ProductSums& sums) const {
    return on_tensor_cores ? of_sum * sqrt(sums.squares) + of_value * fabs(sums.value)
                           : of_sum * sums.absolute;
  }
};

/// Continues kTensorCoreBoundDerivation, which assumes products with random signs.
inline constexpr const char* kMeanDerivation =
    " Products of activations and gradients can have a mean over all rows. The running sum then "
    "grows towards the result, in addition to its random walk. It is half of the result on "
    "average, and each of S steps cuts off less than 2u of it, so the bound has an additional "
    "u·S·|value|.";

inline ProductError product_error(DataType type, std::int64_t k) {
  if (type == DataType::fp32)
    return {false, fp32_sum_tolerance(k).relative, 0.0, unit_roundoff(type)};
  return {true, tensor_core_bound(k, DataType::fp32, type).sum_error,
          unit_roundoff(DataType::fp32) * tensor_core_steps(k), unit_roundoff(type)};
}

inline double product_rms(DataType type, std::int64_t k) {
  return type == DataType::fp32 ? sum_rms(k, type) : tensor_core_sum_rms(k, DataType::fp32);
}

template <class A, class B>
__host__ __device__ ProductSums sum_of_products(std::int64_t k, const A& a, const B& b) {
  ProductSums sums;
  for (std::int64_t i = 0; i < k; ++i)
    sums.add(a(i) * b(i));
  return sums;
}

/// GELU and its slope. Magnitudes are error bounds of kernels with fast_sigmoid.
struct ExactGelu {
  ReferenceElement value, slope;
};
__host__ __device__ inline ExactGelu exact_gelu(double x) {
  constexpr double kRoundoff = 0x1p-24;
  const auto g = gelu_slope(x, [](double z) { return exact_sigmoid(z); });
  const double z = fabs(x) * g.z_slope;  // at least |argument|
  // __expf has an error of 2 + 1.173·|z| ulp (CUDA C++ Programming Guide), __fdividef of 2 ulp.
  // The argument has 3 roundings, the sum one, and the remaining operations 4.
  const double error = (14.0 + 6.0 * z) * kRoundoff;
  return {{x * g.s, error * fabs(x * g.s)},
          {g.first + g.second, error * g.s * (1.0 + fabs(x) * g.z_slope)}};
}

}  // namespace gpuexp::training
