// Measured ceilings of one GPU as a file: what `gpuexp info --measure` writes, and predictions
// read.
#pragma once

#include <filesystem>
#include <string>

#include "device/ceilings.hpp"

namespace gpuexp {

/// What measured ceilings hold for.
struct MeasuringConditions {
  std::string uuid;  ///< of the GPU
  std::string driver_version;
  std::string cuda_toolkit;

  bool operator==(const MeasuringConditions&) const = default;
};

struct CeilingsFile {
  std::string device;  ///< as the driver names it
  MeasuringConditions conditions;
  std::string links_to;    ///< the UUID of another GPU, when these are ceilings of the links to it
  std::string git_commit;  ///< that gpuexp was built from
  std::string utc;         ///< when it was measured
  MeasuredCeilings measured;

  bool operator==(const CeilingsFile&) const = default;

  /// Empty where nothing was measured.
  Ceilings ceilings() const;
};

/// Adds ceilings of links; of those that several files have, the worst: who spans several links
/// waits for it.
void add_links(MeasuredCeilings& measured, const CeilingsFile& links);

std::string to_json(const CeilingsFile& file);

/// Throws ConfigError naming the file and the place in it.
CeilingsFile read_ceilings_file(const std::filesystem::path& path);

}  // namespace gpuexp
