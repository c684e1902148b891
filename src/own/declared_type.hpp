// C types in declarations: "in float x[n]", "int n = 1024".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "compile/c_type.hpp"
#include "own/statement.hpp"

namespace gpuexp::own {

/// Takes the type if the statement begins with one, which the declared name must follow. Otherwise
/// takes nothing.
std::optional<CType> take_type(Statement& s);

/// The C type that a word most likely means: "double" for "float64" or "duoble"; empty if none.
std::optional<std::string> nearest_type(std::string_view word);

/// Fails if buffers cannot have elements of the type, which take_type() took at `place`.
void require_element_type(const Statement& s, const CType& type, const Place& place);

/// The values of a parameter with the type. Those of float and double become reals; fails if an
/// integer type has other values than whole numbers, or if launches cannot pass numbers of the
/// type.
std::vector<Value> typed_values(const Statement& s, const CType& type, const Place& place,
                                std::vector<Value> values);

}  // namespace gpuexp::own
