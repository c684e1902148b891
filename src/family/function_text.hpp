// A function as its family's source has it, for pages that show code.
#pragma once

#include <string>
#include <string_view>

namespace gpuexp {

/// The definition of the function with this name, from its `template` or return type to the brace
/// that ends it, without the comment above; "" where the source defines none. The source is
/// formatted as this project's is: what stands in a namespace is not indented.
std::string function_text(std::string_view source, std::string_view name);

}  // namespace gpuexp
