// Explanations of variants from the comments of their file.
#pragma once

#include <string_view>

#include "own/declaration.hpp"

namespace gpuexp::own {

/// Sets DeclaredVariant::why of all variants: to the section "// ---- VARIANT: …" as in files of
/// built-in families, or else to the comments directly above the variant's kernels. `source` is the
/// text of the file.
void set_whys(Declaration& declaration, std::string_view source);

}  // namespace gpuexp::own
