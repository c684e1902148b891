// Text of a family's functions and of a problem's values.
#pragma once

#include <string>
#include <string_view>

#include "family/family.hpp"

namespace gpuexp {

/// The definition of the function, from its `template` or return type to its closing brace, without
/// the comment above; "" if there is none. Requires this project's format, in which namespaces are
/// not indented.
std::string function_text(std::string_view source, std::string_view name);

/// Text such as "n=1024,share=0.5", in the order of the family's parameters, without parameters
/// that do not apply (Family::holds), and without those at the positions `unused`.
std::string values_text(const Family& family, const Values& values,
                        const std::vector<std::size_t>& unused = {});

}  // namespace gpuexp
