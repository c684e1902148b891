#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct CheckOptions {
  std::optional<int> device = 0;  ///< ordinal; empty: all GPUs of this machine, one after another
  bool json = false;
  std::vector<std::string> from;  ///< files of `info --measure` to check instead of GPUs
  bool keep = false;              ///< store the ceilings, as `info --measure` does
  std::string out;                ///< with keep: file to write; empty: the default
};

/// Measures each GPU's ceilings, and compares them and the GPU's state after the measurement with
/// the values expected in configs/devices. For files, compares only the ceilings in them. Returns
/// the exit code of the first failed measurement; else `regressed` if a check failed or no expected
/// values are known. Throws ConfigError, and ReportError if a file cannot be written.
ExitCode check(const Context& context, const CheckOptions& options);

}  // namespace gpuexp::cli
