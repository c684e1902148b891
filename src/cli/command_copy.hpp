// Commands that execute the kernels of users' files do so in a copy of this process.
#pragma once

#include <optional>

#include "cli/app.hpp"

namespace gpuexp::cli {

/// Forks, so that a crash ends only the copy. Returns empty in the copy, which executes the
/// command. In this process, waits for the copy, forwards SIGINT and SIGTERM to it, and returns its
/// exit code. If a signal ended the copy, prints a message that names it and returns
/// ExitCode::internal. Call this function while no other thread runs. Throws std::system_error if
/// the system cannot fork.
std::optional<ExitCode> exit_code_of_copy();

}  // namespace gpuexp::cli
