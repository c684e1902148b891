// Reads the comment lines of a kernel file.
#pragma once

#include <string>
#include <string_view>

#include "own/declaration.hpp"

namespace gpuexp::own {

/// Parses the declaration in the text of the kernel file `file`. Throws DeclarationError for a
/// statement that is not understood or given twice, and if there is no statement at all.
Declaration read_declaration(const std::string& file, std::string_view source);

}  // namespace gpuexp::own
