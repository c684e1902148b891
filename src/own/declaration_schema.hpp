// The JSON Schema of declarations in JSON files, for editors, generated from the reader's keys.
#pragma once

#include <string>

namespace gpuexp::own {

/// The JSON Schema (draft 2020-12), pretty-printed. Statements are texts in it.
std::string declaration_schema();

}  // namespace gpuexp::own
