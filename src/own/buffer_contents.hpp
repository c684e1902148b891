// Contents of buffers before a launch.
#pragma once

#include <cstdint>

#include "family/family.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::own {

/// Steps that store the declared contents of all buffers with this role. Contents of in_out buffers
/// do not depend on the seed, because steps that restore them get none. Throws DeclarationError if
/// a .npy file cannot be read.
Steps stored_contents(const Bound& bound, const OwnProblem& problem, const OwnData& data,
                      BufferRole role, std::uint64_t seed);

}  // namespace gpuexp::own
