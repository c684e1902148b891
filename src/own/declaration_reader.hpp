// Reads declarations: the comment lines of a kernel file that begin with "// gpuexp:".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "own/declaration.hpp"
#include "own/statement.hpp"

namespace gpuexp::own {

/// The statements in the comment lines of the text; they refer to `file` and `source`.
std::vector<Statement> statements_in(const std::string& file, std::string_view source);

/// Parses the statements. Throws DeclarationError for a statement that is not understood or given
/// twice.
Declaration declaration_of(const std::string& file, const std::vector<Statement>& statements);

/// Parses the declaration in the text of the kernel file `file`. Throws DeclarationError like
/// declaration_of(), and if there is no statement at all.
Declaration read_declaration(const std::string& file, std::string_view source);

}  // namespace gpuexp::own
