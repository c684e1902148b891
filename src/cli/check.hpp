// gpuexp info --check: are these GPUs healthy, and is their number good?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct CheckOptions {
  std::optional<int> device = 0;  ///< empty: all of this machine, one after the other
  bool json = false;
  std::vector<std::string> from;  ///< files of `info --measure` to judge instead of GPUs
  bool keep = false;              ///< keep what was measured, as `info --measure` does
  std::string out;                ///< there; empty: where ceiling_source_of looks for it
};

/// Reads the GPU's state, measures its ceilings, reads the state again, and shows both against how
/// such a GPU is meant to run and the bands of configs/devices; of several GPUs each in turn, with
/// a last line that names those which are not healthy. `regressed` when something failed, or
/// nothing is known to judge by; what became of the rows comes before that. Throws ConfigError, and
/// ReportError when a file cannot be written.
ExitCode check(const Context& context, const CheckOptions& options);

}  // namespace gpuexp::cli
