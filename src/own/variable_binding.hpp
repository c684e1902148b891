// Buffers that are __constant__ or __device__ variables of the file.
#pragma once

#include <string_view>
#include <vector>

#include "own/bound.hpp"
#include "sass/module_data.hpp"

namespace gpuexp::own {

/// The variables of a module that a declaration can name.
std::vector<OwnVariable> own_variables(const ModuleData& module, std::string_view source);

/// Sets BoundBuffer::variable, type and role of each buffer that no launch passes to a kernel and
/// that has the name of a variable. Throws DeclarationError.
void bind_variables(Bound& bound, const std::vector<OwnVariable>& variables);

/// "__constant__" or "__device__".
std::string memory_space_of(const OwnVariable& variable);

}  // namespace gpuexp::own
