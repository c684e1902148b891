// Measured ceilings of one GPU as a file: what `gpuexp info --measure` writes, and predictions
// read.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/ceilings.hpp"

namespace gpuexp {

struct MeasuredCeiling {
  double value;  ///< in the unit of its CeilingTerm
  double low;    ///< 95 % interval
  double high;
  std::string from;  ///< the row that it was taken from
};

struct CeilingsFile {
  std::string device;  ///< as the driver names it
  std::string uuid;
  std::string driver_version;
  std::string cuda_toolkit;
  std::string git_commit;
  std::string utc;                                  ///< when it was measured
  std::map<std::string, MeasuredCeiling> measured;  ///< by CeilingTerm::id

  /// Empty where nothing was measured.
  Ceilings ceilings() const;
};

std::string to_json(const CeilingsFile& file);

/// Throws ConfigError naming the file and the place in it.
CeilingsFile read_ceilings_file(const std::filesystem::path& path);

}  // namespace gpuexp
