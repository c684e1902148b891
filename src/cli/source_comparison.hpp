// `gpuexp compare OLD.cu NEW.cu`: two kernel files, compared by source line.
#pragma once

#include <string>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct SourceComparisonOptions {
  std::string before;  ///< FILE or FILE:VARIANT
  std::string after;
  std::vector<std::string> sets;
  std::string gpu;   ///< "": the default
  bool all = false;  ///< also lines that did not change
};

/// Executes the variants that both files have, or the named ones, on the CPU, and prints times,
/// counts and changed lines. Throws ConfigError if the files have no common variant, and what
/// loading a kernel file throws.
ExitCode compare_sources(const Context& context, const SourceComparisonOptions& options);

}  // namespace gpuexp::cli
