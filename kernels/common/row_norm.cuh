// Common parts of LayerNorm, RMSNorm and their gradients: problem, weights, row statistics,
// access widths, reference and tolerance.
#pragma once

#include "kernels/common/row_family.cuh"
#include "kernels/common/row_reference.cuh"
#include "kernels/common/stored_part.cuh"

namespace gpuexp {

enum class Norm {
  layer,  ///< (x - mean) / √(variance + ε)·γ + β
  rms     ///< x / √(mean of x² + ε)·γ
};
template <Norm kNorm>
using NormConstant = std::integral_constant<Norm, kNorm>;

constexpr float kNormEpsilon = 1e-5f;
/// Maximum offset for which kernels may compute the variance as the mean of squares minus the
/// squared mean.
constexpr double kMaxSumsOffset = 1;

struct NormProblem : RowProblem {
  Norm norm;
  double offset;  ///< x is in [offset - 1, offset + 1)
};

/// One γ and one β per column. RMSNorm does not use beta.
template <class T>
struct NormWeights {
  const T* gamma;
  const T* beta;
};

template <class Make>
auto with_norm(Norm norm, Make make) {
  return norm == Norm::layer ? make(NormConstant<Norm::layer>{}) : make(NormConstant<Norm::rms>{});
}

/// Calls `use` with the number of elements per access as a compile-time constant: 16 bytes if
/// rows are multiples of 16 bytes, otherwise one element. In other rows, a column's element and its
/// weights differ in alignment.
template <class M, class Use>
Steps by_width(const M& m, Use use) {
  constexpr int kWidest = kRowWidth<typename M::Element>;
  if (m.columns % kWidest == 0) return use(std::integral_constant<int, kWidest>{});
  return use(std::integral_constant<int, 1>{});
}
/// A reason if by_width() would use accesses of one element; otherwise nullopt.
inline std::optional<std::string> needs_whole_rows(const RowProblem& p) {
  if (edges_of(p.columns, p.dtype) == Edges::whole) return std::nullopt;
  return "needs rows that are multiples of 16 bytes";
}

/// Statistics of a row. Normalized elements are (x - mean)·rstd.
struct NormStatistics {
  float mean;
  float rstd;
};

/// Computes mean and rstd from the sums of (x - shift) and of (x - shift)².
template <Norm kNorm>
__device__ NormStatistics statistics_of(TwoSums sums, float shift, int columns) {
  const float above = kNorm == Norm::layer ? sums.a / columns : 0.0f;
  const float variance = fmaxf(sums.b / columns - above * above, 0.0f);
  return {kNorm == Norm::layer ? shift + above : 0.0f, rsqrtf(variance + kNormEpsilon)};
}

template <Norm kNorm, class Part>
__device__ void add_part(TwoSums& sums, const Part& part, float shift) {
  for_inside(part, [&](int, const auto& vector) {
#pragma unroll
    for (const float x : vector) {
      const float deviation = kNorm == Norm::layer ? x - shift : x;
      if (kNorm == Norm::layer) sums.a += deviation;
      sums.b = fmaf(deviation, deviation, sums.b);
    }
  });
}
/// Reduces the sums over the threads of the row, and returns its statistics.
template <Norm kNorm, class Group>
__device__ NormStatistics joined(const Group& group, TwoSums own, float shift, int columns) {
  if (kNorm == Norm::layer)
    own = group.template all_reduce<0>(own, SumPairs());
  else
    own.b = group.template all_reduce<0>(own.b, Sum());
  return statistics_of<kNorm>(own, shift, columns);
}

template <Norm kNorm, class Part, class T>
__device__ void apply_norm(Part& part, const NormStatistics& s, const NormWeights<T>& w) {
  for_inside(part, [&](int at, float(&vector)[Part::kElements]) {
    float gamma[Part::kElements], beta[Part::kElements];
    load_floats(w.gamma + at, gamma);
    if (kNorm == Norm::layer) load_floats(w.beta + at, beta);
#pragma unroll
    for (int i = 0; i < Part::kElements; ++i) {
      const float normed = (vector[i] - s.mean) * s.rstd;
      vector[i] = kNorm == Norm::layer ? fmaf(normed, gamma[i], beta[i]) : normed * gamma[i];
    }
  });
}

/// Computes a row's statistics with two reductions: the mean, then the variance.
struct TwoReductions {
  template <class T>
  __device__ static float shift_of(const T*, int) {
    return 0.0f;
  }
  template <Norm kNorm, class Group, class Part>
  __device__ static NormStatistics find(const Group& group, const Part& part, float) {
    float mean = 0.0f;
    if (kNorm == Norm::layer)
      mean = group.template all_reduce<1>(part.combined(Sum()), Sum()) / part.columns;
    TwoSums own{0.0f, 0.0f};
    add_part<Norm::layer>(own, part, mean);
    const float squares = group.template all_reduce<0>(own.b, Sum());
    return {mean, rsqrtf(squares / part.columns + kNormEpsilon)};
  }
};

/// Computes a row's statistics with one reduction, over deviations from the row's first element
/// and their squares.
struct OneReduction {
  template <class T>
  __device__ static float shift_of(const T* x, int columns) {
    return columns > 0 ? static_cast<float>(*x) : 0.0f;
  }
  template <Norm kNorm, class Group, class Part>
  __device__ static NormStatistics find(const Group& group, const Part& part, float shift) {
    TwoSums own{0.0f, 0.0f};
    add_part<kNorm>(own, part, shift);
    return joined<kNorm>(group, own, shift, part.columns);
  }
};

inline Work norm_work(const NormProblem& p, int read, int written) {
  const bool is_layer = p.norm == Norm::layer;
  return row_work(p, read, written, is_layer ? 8 : 4) +
         reads<char>(p.columns * element_bytes(p) * (is_layer ? 2 : 1));
}

template <class T, class Data>
NormWeights<T> norm_weights(const Data& d) {
  return {static_cast<const T*>(d.gamma), static_cast<const T*>(d.beta)};
}

template <class Data>
Steps fill_norm(const NormProblem& p, const Data& d, std::uint64_t seed) {
  return with_row_matrix(p, nullptr, d.x, [&](auto m) {
    using T = typename decltype(m)::Element;
    const auto around = [&](void* to, std::int64_t count, int stream, float centre, float scale) {
      return fill_uniform(static_cast<T*>(to), count, stream_seed(seed, stream), scale, centre);
    };
    return around(d.x, elements(p), 0, static_cast<float>(p.offset), 1.0f) +
           around(d.gamma, p.columns, 1, 1.0f, 0.5f) + around(d.beta, p.columns, 2, 0.0f, 0.5f);
  });
}

/// Σ d, Σ d² and Σ |x| of a row. For RMSNorm, d = x. For LayerNorm, d is x minus the row's first
/// element, which reduces cancellation in the variance.
struct ExactNormSums {
  double sum;
  double squares;
  double absolute;
  __host__ __device__ static ExactNormSums combined(const ExactNormSums& a,
                                                    const ExactNormSums& b) {
    return {a.sum + b.sum, a.squares + b.squares, a.absolute + b.absolute};
  }
};

/// The elements of x, rounded after the addition of the residual, if any.
template <class T>
struct NormedRows {
  const T* x;
  const T* residual;
  __host__ __device__ T at(std::int64_t i) const {
    if (!residual) return x[i];
    return from_float<T>(static_cast<float>(x[i]) + static_cast<float>(residual[i]));
  }
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {to_double(at(i)), 0.0};
  }
};

template <class T>
struct ExactNorm {
  using Common = ExactNormSums;
  NormedRows<T> rows;
  NormWeights<T> w;
  std::int64_t columns;
  Norm norm;
  bool cancels;            // kernels may compute the variance as the difference of two sums of x
  double sum_error_ratio;  // error bound of sums divided by the relative error bound of results
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    ExactNormSums found{0.0, 0.0, 0.0};
    for (std::int64_t i = first; i < columns; i += step) {
      const double x = to_double(rows.at(row * columns + i));
      const double deviation = x - origin(row);
      found = ExactNormSums::combined(found, {deviation, deviation * deviation, fabs(x)});
    }
    return found;
  }
  __host__ __device__ double origin(std::int64_t row) const {
    return norm == Norm::layer ? to_double(rows.at(row * columns)) : 0.0;
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const auto n = static_cast<double>(columns);
    const double above = norm == Norm::layer ? of_row.sum / n : 0.0;  // mean minus origin
    const double mean = origin(row) + above;
    const double variance = fmax(of_row.squares / n - above * above, 0.0) + kNormEpsilon;
    const double first = -above;
    // Relative error of the variance divided by the error of the sums. It contains mean² / variance
    // if the variance is the difference of two sums, otherwise the square root of this ratio. It
    // also contains (first element - mean)² / variance.
    const double ratio = mean * mean / variance;
    const double cancelled = 1 + (cancels ? ratio : sqrt(ratio)) + first * first / variance;
    const double rstd = 1 / sqrt(variance);
    const double normed = (to_double(rows.at(row * columns + column)) - mean) * rstd;
    const double gamma = to_double(w.gamma[column]);
    const double beta = norm == Norm::layer ? to_double(w.beta[column]) : 0.0;
    const double sum_magnitude = fabs(normed) * cancelled + rstd * of_row.absolute / n;
    return {normed * gamma + beta,
            fabs(normed * gamma) + fabs(beta) + sum_error_ratio * fabs(gamma) * sum_magnitude};
  }
};

/// Unit roundoff of fp32. kNormDerivation explains the bounds below.
constexpr double kNormRoundoff = 0x1p-24;

inline double norm_sums_error(const NormProblem& p) {
  return (2.0 * static_cast<double>(row_additions(p.columns)) + 8) * kNormRoundoff;
}
inline double norm_result_error(const NormProblem& p) {
  return unit_roundoff(p.dtype) + 8 * kNormRoundoff;
}

inline Tolerance norm_tolerance(const NormProblem& p) {
  // √(1 + mean² / variance) for numbers that are uniformly distributed over offset ± 1.
  const double condition = p.norm == Norm::layer ? std::sqrt(1 + 3 * p.offset * p.offset) : 1.0;
  const double terms = static_cast<double>(row_additions(p.columns));
  const double sums_rms = 2 * condition * rounding_rms(DataType::fp32) * std::sqrt(terms / 3);
  constexpr double kRsqrt = 4 * kNormRoundoff;
  const double rms = std::hypot(rounding_rms(p.dtype), 2 * rounding_rms(DataType::fp32),
                                std::hypot(kRsqrt / std::sqrt(3), sums_rms));
  return {norm_result_error(p), 0x1p-124, kRmsSafety * rms, 0.0};
}

/// Calls `use` with the reference of the norm of x + residual, or of x if `residual` is null.
template <class Data, class Use>
auto with_exact_norm(const NormProblem& p, const Data& d, const void* residual, Use use) {
  return with_row_matrix(p, d.x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    return use(ExactNorm<T>{{m.x, static_cast<const T*>(residual)},
                            norm_weights<T>(d),
                            p.columns,
                            p.norm,
                            p.offset <= kMaxSumsOffset,
                            norm_sums_error(p) / norm_result_error(p)});
  });
}

constexpr const char* kNormDerivation =
    "u = 2^-24 is the unit roundoff of fp32, U the unit roundoff of the stored type. A term of a "
    "sum passes through at most columns/32 + 13 additions, each with a relative error of u "
    "(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2). The variance "
    "has the error of the sums times a factor. This factor is 1 + mean²/variance if the variance "
    "is the difference of two sums, which kernels use up to an offset of 1. If kernels sum "
    "deviations from the row's first element, the factor has the mean of these deviations instead "
    "of the mean. For Welford's update, the factor is √(1 + mean²/variance) (Chan, Golub and "
    "LeVeque, Algorithms for Computing the Sample Variance, 1983). The mean has the error of the "
    "sums times the mean of |x|. A result has four more roundings, the 2 ulp of rsqrtf (CUDA C++ "
    "Programming Guide) and the rounding to U. The RMS error combines four errors: storing, "
    "0.42·U (Knuth); two roundings; rsqrtf, spread evenly; and sums whose partial sums grow "
    "evenly, times 2·√(1 + mean²/variance), which is at least 1 + mean²/variance up to a mean of "
    "1. The tolerance is twice this RMS error.";

template <class Data>
FamilyOf<NormProblem, Data>& declare_norm(FamilyOf<NormProblem, Data>& f) {
  return declare_rows(
             f, {65536, "number of rows, each normalized separately", 1024, "elements per row",
                 kFp32First, "element type of the arrays; arithmetic is in fp32"})
      .choice("norm", &NormProblem::norm,
              std::vector<std::pair<std::string, Norm>>{{"layernorm", Norm::layer},
                                                        {"rmsnorm", Norm::rms}},
              "normalization; RMSNorm subtracts no mean and has no β")
      .real("offset", &NormProblem::offset, 0.5, 0, 128, "",
            "center of the range of x, which is uniform in offset ± 1")
      .input("x", &Data::x, matrix_type, elements)
      .input("gamma", &Data::gamma, matrix_type, columns)
      .input("beta", &Data::beta, matrix_type, columns);
}

}  // namespace gpuexp
