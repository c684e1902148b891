// Copies between buffers and the variables of the file that have their contents.
#pragma once

#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Throws DeclarationError if a buffer does not have the size of its variable.
void check_variable_sizes(const Bound& bound, const OwnProblem& problem);

/// Copies from the input buffers to their variables, in the modules of all kernels.
Steps stored_inputs(const Bound& bound, const OwnProblem& problem, const OwnData& data);
/// Copies from the output buffers to their variables, in the modules of the variant's kernels, and
/// back. They are part of each launch, since all copies of the buffers share one variable.
Steps stored_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data);
Steps loaded_outputs(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                     const OwnData& data);

/// The steps of a launch, with these copies.
Steps launch_steps(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                   const OwnData& data);

}  // namespace gpuexp::own
