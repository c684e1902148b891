// Roles of buffers: which are inputs, and which the launches write.
#pragma once

#include <string>

#include "own/bound.hpp"

namespace gpuexp::own {

/// Sets the roles of the buffers from the steps of all variants, and checks that each step reads
/// and writes what the roles permit. Throws DeclarationError.
void set_roles(Bound& bound);

/// Throws a DeclarationError at the place, where expected values of `name` are declared, unless it
/// is an output. Roles must be set.
void check_is_output(const Bound& bound, const std::string& name, const Place& place);

}  // namespace gpuexp::own
