// `gpuexp compare OLD.cu NEW.cu`: two kernel files, compared by source line.
#pragma once

#include <string>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct SourceComparisonOptions {
  std::string before;  ///< FILE or FILE:VARIANT
  std::string after;
  std::vector<std::string> sets;
  /// GPU to simulate; "": the GPU of this machine, which also measures, or the default.
  std::string gpu;
  int device = 0;    ///< ordinal of the GPU of this machine
  bool all = false;  ///< also lines that did not change
};

/// Executes the variants that both files have, or the named ones, on the CPU, and prints predicted
/// times, counts and changed lines. Without options.gpu, measures both versions alternately on the GPU
/// of this machine, if one can be used. Throws ConfigError if the files have no common variant, and
/// what loading a kernel file throws.
ExitCode compare_sources(const Context& context, const SourceComparisonOptions& options);

}  // namespace gpuexp::cli
