// The plain fp64 reference of a matrix product with leading dimensions, on the device and by host
// loops, and the bound on what tensor cores may differ from it.
#pragma once

#include <cmath>

#include "kernels/common/reference.cuh"

namespace gpuexp {

/// A (rows × k) and B (k × columns), both row-major; leading dimensions in elements.
template <class T>
struct GemmOperands {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  std::int64_t k;
};

/// How far a product that tensor cores summed in fp32 may be from the exact one.
struct GemmBound {
  double output_roundoff;  ///< of the element type of C
  /// Bound on the error of the sum over the Euclidean norm of its products.
  double sum_error;

  Tolerance tolerance() const { return {output_roundoff, 0.0}; }
  /// What `tolerance` scales with: rounding C costs up to u·|value|, and the error of the sum,
  /// which is rounded along with it, (1 + u) times its bound.
  __host__ __device__ double magnitude(double value, double norm) const {
    return fabs(value) + (1.0 + output_roundoff) / output_roundoff * sum_error * norm;
  }
};

/// The bound for bf16 inputs uniform in [-1, 1) and a bf16 result; kTensorCoreBoundDerivation says
/// why.
inline GemmBound tensor_core_bound(std::int64_t k) {
  constexpr double kLambda = 8.0;
  constexpr double kTruncation = 0x1p-23;
  const double terms = static_cast<double>(k);
  const double truncations = terms / 4.0 + kLambda * std::sqrt(terms);
  return {unit_roundoff(DataType::bf16), truncations * kTruncation * kLambda};
}

inline constexpr const char* kTensorCoreBoundDerivation =
    "A tensor core multiplies bf16 exactly, aligns eight or more products and the running sum to "
    "the largest of them, and truncates, where an ALU would round: each truncation loses less than "
    "2^-23 of that largest addend (Fasi, Higham, Mikaitis, Pranesh, PeerJ Computer Science 7:e330, "
    "2021). Inputs of random sign make the products p a random walk: no partial sum exceeds "
    "λ·norm(p), with norm(p) = √Σp², but with probability 4·exp(-λ²/2) (Hoeffding's and Lévy's "
    "inequalities), so that is the largest addend. The running sum is truncated at most twice per "
    "eight products, and always towards zero: K/4 truncations that add up. Those of the products "
    "have random signs: λ·√K (Azuma's inequality). The sum therefore errs by at most (K/4 + λ·√K) "
    "· 2^-23 · λ·norm(p), λ = 8, and rounding to bf16 adds u·|value|, u = 2^-8. An error of 1 % in "
    "an element of typical size, |value| = norm(p), exceeds both up to K = 16384.";

/// The largest k at which tensor_core_bound still rejects an error of 1 % in a typical element.
inline constexpr std::int64_t kTensorCoreBoundMaxK = 16384;

/// One element of the product, exact but for fp64 rounding. Call with i = the element's row and
/// column; families whose C is row-major use GemmReference.
template <class T>
__device__ ReferenceElement gemm_element(const GemmOperands<T>& x, std::int64_t row,
                                         std::int64_t column, const GemmBound& bound) {
  double value = 0.0;
  double squares = 0.0;
  for (std::int64_t k = 0; k < x.k; ++k) {
    const double product = to_double(x.a[row * x.lda + k]) * to_double(x.b[k * x.ldb + column]);
    value += product;
    squares += product * product;
  }
  return {value, bound.magnitude(value, sqrt(squares))};
}

/// For evaluate_reference: element i of a row-major C of `columns` columns without gaps.
template <class T>
struct GemmReference {
  GemmOperands<T> operands;
  std::int64_t columns;
  GemmBound bound;
  __device__ ReferenceElement operator()(std::int64_t i) const {
    return gemm_element(operands, i / columns, i % columns, bound);
  }
};

/// The same by plain host loops. index(row, column) is where the element lies in `out`.
template <class T, class Index>
void host_gemm_reference(const GemmOperands<T>& x, std::int64_t rows, std::int64_t columns,
                         const GemmBound& bound, Index index, const ReferenceView& out) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      double value = 0.0;
      double squares = 0.0;
      for (std::int64_t k = 0; k < x.k; ++k) {
        const double a = to_double(x.a[row * x.lda + k]);
        const double b = to_double(x.b[k * x.ldb + column]);
        value += a * b;
        squares += a * b * a * b;
      }
      out.value[index(row, column)] = value;
      out.magnitude[index(row, column)] = bound.magnitude(value, std::sqrt(squares));
    }
  }
}

}  // namespace gpuexp
