// gpuexp info --check: is this GPU healthy, and is its number good?
#pragma once

#include <optional>
#include <string>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct CheckOptions {
  int device = 0;
  bool json = false;
  std::optional<std::string> from;  ///< a file of `info --measure` to judge instead of a GPU
  bool keep = false;                ///< keep what was measured, as `info --measure` does
  std::string out;                  ///< there; empty: where ceiling_source_of looks for it
};

/// Reads the GPU's state, measures its ceilings, reads the state again, and shows both against how
/// such a GPU is meant to run and the bands of configs/devices. `regressed` when something failed,
/// or nothing is known to judge by; what became of the rows comes before that. Throws ConfigError,
/// and ReportError when a file cannot be written.
ExitCode check(const Context& context, const CheckOptions& options);

}  // namespace gpuexp::cli
