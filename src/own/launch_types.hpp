// What machine code without types leaves open, and the declaration decides.
#pragma once

#include <vector>

#include "own/bound.hpp"

namespace gpuexp::own {

/// Completes the launches of kernels that Triton compiled: block and shared memory are Triton's,
/// and its scratch pointers at the end of the parameters are null. Throws DeclarationError for a
/// launch without a block of another kernel, and for one with a block of a kernel of Triton.
void complete_launches(Declaration& declaration, const std::vector<OwnKernel>& kernels);

/// The kernels, where parameters with a size only have the types of the arguments of the first
/// launch. An argument that names a buffer is a pointer. A number has the type of its declared
/// parameter, or else is a signed integer of the parameter's size, or float or double if the
/// expression has a real number. Throws DeclarationError if an argument does not fit the size.
std::vector<OwnKernel> with_argument_types(const Declaration& declaration,
                                           std::vector<OwnKernel> kernels);

}  // namespace gpuexp::own
