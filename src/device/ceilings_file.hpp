// Measured ceilings of one GPU in a file: `gpuexp info --measure` writes it, predictions read it.
#pragma once

#include <filesystem>
#include <string>

#include "device/ceilings.hpp"

namespace gpuexp {

/// The conditions under which measured ceilings are valid.
struct MeasuringConditions {
  std::string uuid;  ///< UUID of the GPU
  std::string driver_version;
  std::string cuda_toolkit;

  bool operator==(const MeasuringConditions&) const = default;
};

struct CeilingsFile {
  std::string device;  ///< the driver's name of the GPU
  MeasuringConditions conditions;
  std::string links_to;    ///< UUID of another GPU, if these are ceilings of the links to it
  std::string git_commit;  ///< commit from which gpuexp was built
  std::string utc;         ///< time of the measurement
  MeasuredCeilings measured;

  bool operator==(const CeilingsFile&) const = default;

  /// A figure that was not measured is empty.
  Ceilings ceilings() const;
};

/// Adds the ceilings of links. If several files have one, the worst is kept: work that spans
/// several links waits for the slowest.
void add_links(MeasuredCeilings& measured, const CeilingsFile& links);

std::string to_json(const CeilingsFile& file);

/// Throws ConfigError with the file and the place in it.
CeilingsFile read_ceilings_file(const std::filesystem::path& path);

}  // namespace gpuexp
