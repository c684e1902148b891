// LayerNorm and RMSNorm, and their gradients: which of the two, what weighs a row's elements, and
// how wide accesses to rows and weights are.
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
/// Up to this offset, a variance may be the difference of a mean of squares and a square.
constexpr double kMostSumsOffset = 1;

struct NormProblem : RowProblem {
  Norm norm;
  double offset;  ///< x is in [offset - 1, offset + 1)
};

/// A number for each column. RMSNorm has no beta.
template <class T>
struct NormWeights {
  const T* gamma;
  const T* beta;
};

/// What `make` makes of which norm it is, as a constant.
template <class Make>
auto with_norm(Norm norm, Make make) {
  return norm == Norm::layer ? make(NormConstant<Norm::layer>{}) : make(NormConstant<Norm::rms>{});
}

/// Calls `use` with the elements of an access, as a constant: 16 bytes where all rows are multiples
/// of that, and else one element. Weights begin with a vector and rows may not, so that what is
/// beside each other in both has no wider access in common.
template <class M, class Use>
Steps by_width(const M& m, Use use) {
  constexpr int kWidest = kRowWidth<typename M::Element>;
  if (m.columns % kWidest == 0) return use(std::integral_constant<int, kWidest>{});
  return use(std::integral_constant<int, 1>{});
}
/// Whether it is 16 bytes.
inline std::optional<std::string> needs_whole_rows(const RowProblem& p) {
  if (edges_of(p.columns, p.dtype) == Edges::whole) return std::nullopt;
  return "accesses take rows that are multiples of 16 bytes";
}

/// What a row's elements have in common: results are (x - mean)·rstd, weighed.
struct NormStatistics {
  float mean;
  float rstd;
};

/// The mean, and rstd, of sums of deviations from `shift` and of their squares.
template <Norm kNorm>
__device__ NormStatistics statistics_of(TwoSums sums, float shift, int columns) {
  const float apart = kNorm == Norm::layer ? sums.a / columns : 0.0f;
  const float variance = fmaxf(sums.b / columns - apart * apart, 0.0f);
  return {kNorm == Norm::layer ? shift + apart : 0.0f, rsqrtf(variance + kNormEpsilon)};
}

template <Norm kNorm, class Part>
__device__ void add_part(TwoSums& sums, const Part& part, float shift) {
  for_inside(part, [&](int, const auto& vector) {
#pragma unroll
    for (const float x : vector) {
      const float apart = kNorm == Norm::layer ? x - shift : x;
      if (kNorm == Norm::layer) sums.a += apart;
      sums.b = fmaf(apart, apart, sums.b);
    }
  });
}
/// Of what each thread of the row found.
template <Norm kNorm, class Group>
__device__ NormStatistics joined(const Group& group, TwoSums own, float shift, int columns) {
  if (kNorm == Norm::layer)
    own = group.template all<0>(own, BothSums());
  else
    own.b = group.template all<0>(own.b, Sum());
  return statistics_of<kNorm>(own, shift, columns);
}

/// What becomes of the elements that a thread has.
template <Norm kNorm, class Part, class T>
__device__ void weigh(Part& part, const NormStatistics& s, const NormWeights<T>& w) {
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

/// How the threads of a row find its statistics: they wait for the mean, and for the variance.
struct TwoWaits {
  template <class T>
  __device__ static float shift_of(const T*, int) {
    return 0.0f;
  }
  template <Norm kNorm, class Group, class Part>
  __device__ static NormStatistics find(const Group& group, const Part& part, float) {
    float mean = 0.0f;
    if (kNorm == Norm::layer)
      mean = group.template all<1>(part.combined(Sum()), Sum()) / part.columns;
    TwoSums own{0.0f, 0.0f};
    add_part<Norm::layer>(own, part, mean);
    const float squares = group.template all<0>(own.b, Sum());
    return {mean, rsqrtf(squares / part.columns + kNormEpsilon)};
  }
};

struct OneWait {
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

/// Of the weights as well.
inline Work norm_work(const NormProblem& p, int read, int written) {
  const bool is_layer = p.norm == Norm::layer;
  return row_work(p, read, written, is_layer ? 8 : 4) +
         reads<char>(p.columns * element_bytes(p) * (is_layer ? 2 : 1));
}

/// Those of a family's data.
template <class T, class Data>
NormWeights<T> norm_weights(const Data& d) {
  return {static_cast<const T*>(d.gamma), static_cast<const T*>(d.beta)};
}

/// x and the weights.
template <class Data>
Steps fill_norm(const NormProblem& p, const Data& d, std::uint64_t seed) {
  return with_row_matrix(p, nullptr, d.x, [&](auto m) {
    using T = typename decltype(m)::Element;
    const auto around = [&](void* to, std::int64_t count, int stream, float centre, float most) {
      return fill_uniform(static_cast<T*>(to), count, stream_seed(seed, stream), most, centre);
    };
    return around(d.x, elements(p), 0, static_cast<float>(p.offset), 1.0f) +
           around(d.gamma, p.columns, 1, 1.0f, 0.5f) + around(d.beta, p.columns, 2, 0.0f, 0.5f);
  });
}

/// Σ d and Σ d² of a row, and Σ |x|: d is x, less the row's first element where a mean is
/// subtracted, so that sums of squares do not cancel.
struct ExactNormSums {
  double sum;
  double squares;
  double absolute;
  __host__ __device__ static ExactNormSums combined(const ExactNormSums& a,
                                                    const ExactNormSums& b) {
    return {a.sum + b.sum, a.squares + b.squares, a.absolute + b.absolute};
  }
};

/// x plus the residual where there is one, rounded as it is stored.
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
  bool cancels;    // a variance may be the difference of two sums of numbers as they are
  double of_sums;  // what errors of sums count beside those that are relative to the result
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    ExactNormSums found{0.0, 0.0, 0.0};
    for (std::int64_t i = first; i < columns; i += step) {
      const double x = to_double(rows.at(row * columns + i));
      const double apart = x - origin(row);
      found = ExactNormSums::combined(found, {apart, apart * apart, fabs(x)});
    }
    return found;
  }
  __host__ __device__ double origin(std::int64_t row) const {
    return norm == Norm::layer ? to_double(rows.at(row * columns)) : 0.0;
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const auto n = static_cast<double>(columns);
    const double above = norm == Norm::layer ? of_row.sum / n : 0.0;  // mean less the origin
    const double mean = origin(row) + above;
    const double variance = fmax(of_row.squares / n - above * above, 0.0) + kNormEpsilon;
    const double first = -above;
    // By how much more than itself a variance is off: mean / deviation, or that squared; or as the
    // row's first element is to the mean.
    const double apart = mean * mean / variance;
    const double cancelled = 1 + (cancels ? apart : sqrt(apart)) + first * first / variance;
    const double rstd = 1 / sqrt(variance);
    const double normed = (to_double(rows.at(row * columns + column)) - mean) * rstd;
    const double gamma = to_double(w.gamma[column]);
    const double beta = norm == Norm::layer ? to_double(w.beta[column]) : 0.0;
    const double of_row_sums = fabs(normed) * cancelled + rstd * of_row.absolute / n;
    return {normed * gamma + beta,
            fabs(normed * gamma) + fabs(beta) + of_sums * fabs(gamma) * of_row_sums};
  }
};

/// The derivation that tolerance_derivation states in words.
constexpr double kNormRoundoff = 0x1p-24;

inline double norm_sums_error(const NormProblem& p) {
  return (2.0 * static_cast<double>(row_additions(p.columns)) + 8) * kNormRoundoff;
}
inline double norm_result_error(const NormProblem& p) {
  return unit_roundoff(p.dtype) + 8 * kNormRoundoff;
}

inline Tolerance norm_tolerance(const NormProblem& p) {
  // √(1 + mean² / variance), of numbers that are spread evenly over ± 1 from the offset.
  const double condition = p.norm == Norm::layer ? std::sqrt(1 + 3 * p.offset * p.offset) : 1.0;
  const double terms = static_cast<double>(row_additions(p.columns));
  const double of_sums = 2 * condition * rounding_rms(DataType::fp32) * std::sqrt(terms / 3);
  constexpr double kRsqrt = 4 * kNormRoundoff;
  const double rms = std::hypot(rounding_rms(p.dtype), 2 * rounding_rms(DataType::fp32),
                                std::hypot(kRsqrt / std::sqrt(3), of_sums));
  return {norm_result_error(p), 0x1p-124, kRmsSafety * rms, 0.0};
}

/// Calls `use` with what gives the rows of the norm of x, plus the residual where there is one.
template <class Data, class Use>
auto with_exact_norm(const NormProblem& p, const Data& d, const void* residual, Use use) {
  return with_row_matrix(p, d.x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    return use(ExactNorm<T>{{m.x, static_cast<const T*>(residual)},
                            norm_weights<T>(d),
                            p.columns,
                            p.norm,
                            p.offset <= kMostSumsOffset,
                            norm_sums_error(p) / norm_result_error(p)});
  });
}

constexpr const char* kNormDerivation =
    "u = 2^-24 of fp32, U of the stored type. A sum of n terms passes each through at most "
    "columns/32 + 13 additions of u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd "
    "ed., section 4.2). A variance is off by that times 1 + mean²/variance where it is the "
    "difference of two sums, which is up to an offset of 1, with deviations from the row's first "
    "element in place of the mean where they are summed, and by the root of it for Welford's "
    "update (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983); the "
    "mean by that of the mean of |x|. A "
    "result has four roundings more, rsqrtf's 2 ulp (CUDA C++ Programming Guide), and that to U. "
    "The RMS error is that of storing, 0.42·U (Knuth), of two roundings, of rsqrtf, spread evenly, "
    "and of sums whose partial sums grow evenly, times twice √(1 + mean²/variance), which is 1 + "
    "mean²/variance or more up to a mean of 1. Twice that is allowed.";

/// Parameters, x and the weights.
template <class Data>
FamilyOf<NormProblem, Data>& declare_norm(FamilyOf<NormProblem, Data>& f) {
  return declare_rows(f, {65536, "rows, each normed by itself", 1024, "elements of a row",
                          kFp32First, "type of the arrays; arithmetic is in fp32"})
      .choice("norm", &NormProblem::norm,
              std::vector<std::pair<std::string, Norm>>{{"layernorm", Norm::layer},
                                                        {"rmsnorm", Norm::rms}},
              "which of the two; an RMSNorm has no mean and no β")
      .real("offset", &NormProblem::offset, 0.5, 0, 128, "", "x is spread evenly over this ± 1")
      .input("x", &Data::x, matrix_type, elements)
      .input("gamma", &Data::gamma, matrix_type, columns)
      .input("beta", &Data::beta, matrix_type, columns);
}

}  // namespace gpuexp
