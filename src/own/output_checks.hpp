// The checks of a problem's outputs as programs, and the errors that a problem has before it runs.
#pragma once

#include <cstddef>

#include "own/check_expression.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Evaluates everything else, so that errors appear before anything runs. Throws DeclarationError.
void check_problem(const Bound& bound, const OwnProblem& problem);

/// The check of an output. The nodes exist as long as `bound`.
CompiledCheck compiled_check(const Bound& bound, std::size_t output, const OwnProblem& problem,
                             const OwnData& data);
CheckProgram program_of(const Bound& bound, std::size_t output, const OwnProblem& problem,
                        const OwnData& data);

/// Operations of the checks of all outputs, as many as take the time of their interpretation: if
/// every element is computed by itself, and as the host computes them (own/host_evaluation.hpp).
double reference_operations(const Bound& bound, const OwnProblem& problem);
HostOperations host_check_operations(const Bound& bound, const OwnProblem& problem);

}  // namespace gpuexp::own
