// A problem of a user's kernel file: values of the parameters, extents of the buffers, and what
// they determine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "own/binding.hpp"
#include "own/check_program.hpp"
#include "own/fill_program.hpp"

namespace gpuexp::own {

struct OwnProblem {
  Names names;
  std::vector<std::vector<std::int64_t>> extents;  ///< by buffer
  /// The requirement that the values do not meet. Only a problem without one has launches, contents
  /// and checks; the extents of others are 1.
  std::string unmet;

  std::int64_t count(std::size_t buffer) const;  ///< number of elements
};

/// Pointers to the buffers; null in data that no launch uses.
struct OwnData {
  std::vector<void*> buffers;
};

/// Evaluates requirements and extents. Throws DeclarationError.
OwnProblem problem_of(const Bound& bound, const Values& values);

/// Evaluates everything else, so that errors appear before anything runs. Throws DeclarationError.
void check_problem(const Bound& bound, const OwnProblem& problem);

Shape shape_of(const Bound& bound, const BoundLaunch& launch, const Names& names);
/// The kernels and memsets of a variant, in order.
Steps steps_of(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
               const OwnData& data);

/// Contents of a buffer before the launch.
FillProgram fill_of(const Bound& bound, std::size_t index, const OwnProblem& problem,
                    std::uint64_t seed);

/// The check of an output.
CheckProgram program_of(const Bound& bound, std::size_t output, const OwnProblem& problem,
                        const OwnData& data);

/// Operations of the checks of all outputs, as many as take the time of their interpretation.
double reference_operations(const Bound& bound, const OwnProblem& problem);

/// The bound on the error of an output, and its derivation.
Tolerance tolerance_of(const Bound& bound, std::size_t output, const OwnProblem& problem);
std::string tolerance_derivation(const Bound& bound);

}  // namespace gpuexp::own
