// A family's functions and a problem's values as text.
#pragma once

#include <string>
#include <string_view>

#include "family/family.hpp"

namespace gpuexp {

/// The definition of the function with this name, from its `template` or return type to the brace
/// that ends it, without the comment above; "" where the source defines none. The source is
/// formatted as this project's is: what stands in a namespace is not indented.
std::string function_text(std::string_view source, std::string_view name);

/// "n=1024,share=0.5": in the order of the family's parameters, without those that do not hold
/// (Family::holds).
std::string values_text(const Family& family, const Values& values);

}  // namespace gpuexp
