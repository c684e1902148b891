// Executes one kernel at chosen sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "infer/launch_resolution.hpp"
#include "infer/sample_sizes.hpp"
#include "infer/touched_elements.hpp"

namespace gpuexp::infer {

/// Contents of a pointer's buffer at given values of the parameters; null: zeros.
using Contents = std::function<std::int64_t(const own::Names& values, std::int64_t i)>;

struct ProbeRun {
  Sizes sizes;
  Shape shape;
  TouchedByLaunch touched;
};

/// A launch that is not possible at some sizes: an empty grid, a block that is too large, a
/// quotient with a remainder.
class ImpossibleLaunch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class KernelProbe {
 public:
  /// The simulator and the budget must outlive this object.
  KernelProbe(const KernelSignature& kernel, const void* address, ResolvedLaunch launch,
              sim::Simulator& simulator, ProbeBudget& budget);

  const ResolvedLaunch& launch() const { return launch_; }
  /// Names of the parameters that vary, in the order of Sizes.
  const std::vector<std::string>& sized() const { return sized_; }
  /// Values of all parameters.
  own::Names values(const Sizes& sizes) const;
  /// Throws ImpossibleLaunch.
  Shape shape(const own::Names& values) const;
  /// `contents` has one element for each pointer, or none. Throws ImpossibleLaunch, and what
  /// touched_elements() throws.
  ProbeRun run(const Sizes& sizes, const std::vector<Contents>& contents = {}) const;
  /// Whether the budget is used up; if so, uses its reserve, once.
  bool takes_reserve() const;
  /// Runs with another grid than the launch's.
  ProbeRun run_with_grid(const Sizes& sizes, const Extent& grid) const;

 private:
  ProbeRun run(const Sizes& sizes, const own::Names& values, const Shape& shape,
               const std::vector<Contents>& contents) const;

  KernelSignature kernel_;
  const void* address_;
  ResolvedLaunch launch_;
  std::vector<std::string> sized_;
  sim::Simulator& simulator_;
  ProbeBudget& budget_;
};

}  // namespace gpuexp::infer
