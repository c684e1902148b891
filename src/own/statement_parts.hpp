// Parts of statements: buffers, contents, the steps of launches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "own/declaration.hpp"
#include "own/statement.hpp"

namespace gpuexp::own {

/// Each function consumes its part of the statement, and fails if the text is another one.

/// The rest of the statement, if it names a .npy file.
std::optional<DeclaredArray> read_array(Statement& s);
/// "uniform", "integers(0, m)" or a constant.
DeclaredFill read_fill(Statement& s);
/// "a[m][k]".
DeclaredBuffer read_buffer(Statement& s, std::optional<BufferRole> role);
/// Kernels and memsets, with `;` between them. CUDA's `;` after the last one may stay.
std::vector<DeclaredStep> read_steps(Statement& s);
/// A number from 0 to below 1, at the end of the statement.
double read_tolerance(Statement& s);

/// Whether the text begins with a memset, not with a kernel of this name.
bool begins_memset(std::string_view text);
/// Names of the kernels among the steps, in order.
std::vector<std::string> kernels_of(const DeclaredVariant& variant);

}  // namespace gpuexp::own
