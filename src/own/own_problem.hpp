// A problem of a user's kernel file: values of the parameters, extents of the buffers, and what
// they determine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "own/bound.hpp"
#include "own/check_program.hpp"
#include "own/fill_program.hpp"

namespace gpuexp::own {

/// Contents that replace random contents of floating-point buffers: whole numbers other than 0.
struct ExactContents {
  std::int64_t largest = 0;  ///< 0: contents are as declared
  bool have_signs = false;   ///< also negative numbers, where the declared contents have them
};

struct OwnProblem {
  Names names;
  std::vector<std::vector<std::int64_t>> extents;  ///< by buffer
  /// The requirement that the values do not meet. Only a problem without one has launches, contents
  /// and checks; the extents of others are 1.
  std::string unmet;
  ExactContents contents;

  std::int64_t count(std::size_t buffer) const;  ///< number of elements
};

/// Pointers to the buffers; null in data that no launch uses.
struct OwnData {
  std::vector<void*> buffers;
};

/// Evaluates requirements and extents. Throws DeclarationError.
OwnProblem problem_of(const Bound& bound, const Values& values);

/// Largest grids and blocks of all GPUs.
inline constexpr Extent kMaxGrid{(std::int64_t{1} << 31) - 1, 65535, 65535};
inline constexpr Extent kMaxBlock{1024, 1024, 64};
inline constexpr std::int64_t kMaxBlockThreads = 1024;

/// Throws DeclarationError if a number is negative or cannot be evaluated. beyond_limits()
/// (launch_limits.hpp) compares the shape with a GPU.
Shape shape_of(const Bound& bound, const BoundLaunch& launch, const Names& names);
/// The kernels and memsets of a variant, in order.
Steps steps_of(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
               const OwnData& data);

/// Seed of the contents of in_out buffers, which do not depend on the seed of the run.
inline constexpr std::uint64_t kInOutSeed = 1;

/// Contents of a buffer before the launch.
FillProgram fill_of(const Bound& bound, std::size_t index, const OwnProblem& problem,
                    std::uint64_t seed);

}  // namespace gpuexp::own
