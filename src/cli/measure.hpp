// gpuexp info --measure: this device's own ceilings.
#pragma once

#include <string>

#include "cli/app.hpp"

namespace gpuexp::cli {

struct MeasureOptions {
  int device = 0;
  bool json = false;  ///< print what is written
  std::string out;    ///< empty: where ceiling_source_of looks for it
};

/// Runs configs/ceilings.json, shows what it found (beside the datasheet and the vendor's calls,
/// unless as JSON), and writes it. Throws ConfigError, and ReportError when the file cannot be
/// written.
ExitCode measure(const Context& context, const MeasureOptions& options);

}  // namespace gpuexp::cli
