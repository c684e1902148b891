// How far results may be from a family's reference: each element by itself, and all of them
// together. A bound per element has to hold for the worst of millions of elements, so it is several
// to hundreds of times what an element usually errs by; a fault that stays below it in every
// element shows in the root-mean-square (RMS) error, of which a correct kernel has little more than
// a model of its roundings predicts.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpuexp {

/// An element passes when got == value (so that an expected infinity passes) or
/// |got - value| <= absolute + relative × magnitude; NaN never passes. An output passes when, over
/// all its elements, the RMS error is at most rms_allowed() as well.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double rms_relative = 0;  ///< of the RMS value
  double rms_absolute = 0;
};

/// The largest RMS error of `count` elements that passes:
///   rms_absolute + rms_relative × value_rms + largest_allowed × √(32 / count)
/// The first two are what a family's model of roundings expects. The last is for chance: by
/// Bernstein's inequality (Boucheron, Lugosi, Massart, Concentration Inequalities, 2013, corollary
/// 2.11) the mean square of independent errors, each at most `largest_allowed`, exceeds what is
/// expected by that much with a probability of e^-32 = 1e-14. Roundings of different elements are
/// independent in the model. Few elements have no RMS bound beside their own: from 32 down it
/// allows what each element is allowed.
double rms_allowed(const Tolerance& tolerance, double value_rms, double largest_allowed,
                   std::int64_t count);

/// The RMS error over what is allowed; above 1, or NaN, is wrong.
double rms_over_allowed(double rms_error, double allowed);

/// Times a model of roundings: the bound on the RMS error. It covers what models leave out, and a
/// result with twice the error that its roundings explain has another cause.
inline constexpr double kRmsSafety = 2.0;

/// The RMS relative error of one rounding to nearest: u/√(8·ln 2) = 0.42·u. The error is spread
/// evenly over ±u·2^e, of a significand whose logarithm is spread evenly (Knuth, The Art of
/// Computer Programming 2, section 4.2.4): u²/3 times the mean of 1/m² over [1, 2), 3/(8·ln 2).
double rounding_rms(DataType type);

/// The RMS error of a sum of `terms` terms of random sign, one after another, over the RMS sum:
/// rounding_rms·√(terms/2 + 1). After i terms the partial sum is a random walk of RMS √i, whose
/// rounding errs by rounding_rms of it; independent errors of mean zero add by their squares
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.5; Higham and Mary,
/// SIAM J. Sci. Comput. 41(5), 2019). Sums in blocks and trees have smaller partial sums and err by
/// less. One more rounding covers that of products, or of the result.
double sum_rms(std::int64_t terms, DataType type);

}  // namespace gpuexp
