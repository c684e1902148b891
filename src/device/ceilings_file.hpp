// A file with the measured ceilings of one GPU. `gpuexp info --measure` writes it; predictions
// read it.
#pragma once

#include <filesystem>
#include <string>

#include "device/ceilings.hpp"

namespace gpuexp {

struct MeasuringConditions {
  std::string uuid;
  std::string driver_version;
  std::string cuda_toolkit;

  bool operator==(const MeasuringConditions&) const = default;
};

struct CeilingsFile {
  std::string device;
  MeasuringConditions conditions;
  std::string links_to;  ///< for ceilings of links: UUID of the other GPU; otherwise empty
  std::string git_commit;
  std::string utc;
  MeasuredCeilings measured;

  bool operator==(const CeilingsFile&) const = default;

  /// The ceilings; values that were not measured are empty.
  Ceilings ceilings() const;
};

/// Adds the ceilings of links. If several files have the same ceiling, the worst value is kept,
/// because work on several links waits for the slowest link.
void add_links(MeasuredCeilings& measured, const CeilingsFile& links);

std::string to_json(const CeilingsFile& file);

/// Throws ConfigError, which names the file and the JSON path of the error.
CeilingsFile read_ceilings_file(const std::filesystem::path& path);

}  // namespace gpuexp
