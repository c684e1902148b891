// A problem's values as text.
#pragma once

#include <string>

#include "family/family.hpp"

namespace gpuexp {

/// "n=1024,share=0.5": in the order of the family's parameters.
std::string values_text(const Family& family, const Values& values);

}  // namespace gpuexp
