// Sizes at which the numbers of elements that a kernel accesses follow from its parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "infer/extent_fit.hpp"
#include "infer/kernel_probe.hpp"

namespace gpuexp::infer {

/// The kernel cannot be executed at any of the tried sizes. The message says why.
class InferenceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How the size of a buffer follows from the parameters.
enum class FitKind {
  none,
  untouched,  ///< the kernel accesses none of its elements
  above,      ///< the kernel accesses a little less than the product
  /// The product is exact, but a quotient in it is rounded down. At multiples of the divisor, the
  /// sizes of more buffers may follow from the parameters.
  rounded_down,
  exact,
};

struct PointerFit {
  FitKind kind = FitKind::none;
  std::vector<Dimension> dimensions;  ///< in no particular order

  bool is_settled() const { return kind == FitKind::exact || kind == FitKind::untouched; }
};

/// Runs at several sizes that are multiples of one number, and what fits all of them.
struct SizedRuns {
  std::int64_t multiple_of = 1;
  std::vector<ProbeRun> runs;
  std::vector<PointerFit> fits;  ///< one for each pointer

  bool is_settled() const { return std::ranges::all_of(fits, &PointerFit::is_settled); }
  /// Number of pointers whose size follows exactly from a parameter.
  std::ptrdiff_t explained() const;
};

/// Executes the kernel at multiples of `multiple_of`. Empty if it cannot be executed there;
/// `why_not` then says why.
std::optional<SizedRuns> runs_at_multiples(const KernelProbe& probe, std::int64_t multiple_of,
                                           const std::vector<Contents>& contents,
                                           std::string& why_not);

/// The runs at multiples of 1, of powers of two to 256 or of 96, and of the constant divisors of
/// the grid and the arguments: the first ones that explain all buffers, or else those that explain
/// the most. Throws InferenceError.
SizedRuns settled_runs(const KernelProbe& probe);

}  // namespace gpuexp::infer
