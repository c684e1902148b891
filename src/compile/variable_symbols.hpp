// Variables in device memory that a source declares: __device__, __constant__ and __managed__.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/c_type.hpp"

namespace gpuexp {

struct DeclaredVariable {
  std::string name;
  CType type;  ///< type of the variable or, if it is an array, of its elements
};

/// The variables, in order. Namespaces are left out, as are variables whose type a macro declares.
std::vector<DeclaredVariable> variables_in(std::string_view source);

/// The name without namespaces of a variable of machine code: "table" for "_ZN5space5tableE". Empty
/// for variables of the compiler, of templates and within functions.
std::string variable_name(const std::string& lowered_name);

}  // namespace gpuexp
