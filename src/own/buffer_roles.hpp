// Roles of buffers: which are inputs, and which the launches write.
#pragma once

#include "own/bound.hpp"

namespace gpuexp::own {

/// Sets the roles of the buffers from the steps of all variants, and checks that each step reads
/// and writes what the roles permit. Throws DeclarationError.
void set_roles(Bound& bound);

}  // namespace gpuexp::own
