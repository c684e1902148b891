// The tolerance of a family's results: a bound for each element, and a bound on the
// root-mean-square (RMS) error over all elements. The bound per element must hold for the worst
// of millions of elements, so it is several to hundreds of times the typical error. Many errors
// below the bound per element still increase the RMS error, which a rounding model predicts for
// correct kernels.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpuexp {

/// An element passes if got == value (so an expected infinity passes) or |got - value| <=
/// absolute + relative × magnitude. NaN never passes. An output passes if all its elements pass
/// and its RMS error is at most rms_allowed().
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double rms_relative = 0;  ///< factor on the RMS value
  double rms_absolute = 0;
};

/// The maximum RMS error of `count` elements:
///   rms_absolute + rms_relative × value_rms + largest_allowed × √(32 / count)
/// The first two terms are the family's rounding model, which assumes that the roundings of
/// different elements are independent. The last term covers chance. By Bernstein's inequality
/// (Boucheron, Lugosi, Massart, Concentration Inequalities, 2013, corollary 2.11), the mean
/// square of independent errors of at most `largest_allowed` exceeds its expectation by this term
/// with a probability of e^-32 = 1e-14. Up to 32 elements, the RMS bound is no stricter than the
/// bounds per element.
double rms_allowed(const Tolerance& tolerance, double value_rms, double largest_allowed,
                   std::int64_t count);

/// Ratio of the RMS error to its bound. A result above 1, or NaN, fails.
double rms_over_allowed(double rms_error, double allowed);

/// Ratio of the RMS bound to the error of the rounding model. The factor covers effects that the
/// model omits. An RMS error above twice the model's error has a cause other than rounding.
inline constexpr double kRmsSafety = 2.0;

/// RMS relative error of one rounding to nearest: u/√(8·ln 2) = 0.42·u. The absolute error is
/// uniform over ±u·2^e, and the logarithm of the significand m is uniform (Knuth, The Art of
/// Computer Programming 2, section 4.2.4). The mean square is u²/3 times the mean of 1/m² over
/// [1, 2), 3/(8·ln 2).
double rounding_rms(DataType type);

/// RMS error of a sequential sum of `terms` terms of random sign, relative to the RMS sum:
/// rounding_rms·√(terms/2 + 1). After i terms the partial sum is a random walk of RMS √i, and its
/// rounding error is rounding_rms·√i. Independent errors of mean zero add by their squares
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.5; Higham and
/// Mary, SIAM J. Sci. Comput. 41(5), 2019). Blocked and tree sums have smaller partial sums and
/// smaller errors than sequential sums. The 1 covers the rounding of products or of the result.
double sum_rms(std::int64_t terms, DataType type);

}  // namespace gpuexp
