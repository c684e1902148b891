// Expected values of outputs: of a check, of a .npy file, or of a reference launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "own/binding.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Checks which outputs have expected values, and that floating-point values of a file or of a
/// launch have a tolerance. Throws DeclarationError.
void check_expected_values(const Bound& bound);

/// Checks the reference launch and the headers of files. Throws DeclarationError.
void check_expected_values(const Bound& bound, const OwnProblem& problem);

/// Steps that compute the requested values and magnitudes, one view per output. The magnitude of a
/// file's or launch's values is the largest finite magnitude of an element of the output. The
/// reference launch stores to the outputs; its steps restore `in_out` buffers before and after it.
Steps expected_values(const Bound& bound, const OwnProblem& problem, const OwnData& data,
                      const std::vector<ReferenceView>& views);

/// Whether host loops can compute all expected values: all are those of checks.
bool has_only_checks(const Bound& bound);

/// Operations of these steps in the simulator if every element is computed by itself, and as host
/// loops compute them.
double expected_values_operations(const Bound& bound, const OwnProblem& problem);
HostOperations expected_values_on_host(const Bound& bound, const OwnProblem& problem);

/// Sentences about files and launches for the derivation of the tolerance; empty if there are none.
std::string expected_values_text(const Bound& bound);

}  // namespace gpuexp::own
