// Choice of the ceilings for predictions: measured on this device, recorded for its kind, or scaled
// from another GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/ceilings_file.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"

namespace gpuexp {

/// A device that is present, and its file from `gpuexp info --measure`.
struct PresentDevice {
  MeasuringConditions now;
  std::filesystem::path kept;  ///< may not exist; empty if there is no folder for it
  /// Existing files of the links between the machine's GPUs.
  std::vector<std::filesystem::path> kept_links = {};
};

/// The ceilings nearest to the device, with missing ones from the next source:
/// 1. kept for this device, if measured with the present driver and toolkit;
/// 2. recorded for its kind: <configs>/ceilings/<spec_id>.json, and <spec_id>.links.json for links;
/// 3. recorded for the reference GPU, in proportion to both datasheets;
/// 4. the datasheet.
/// `source` says which was used first, and why no nearer one. `spec_id` is empty for an unlisted
/// GPU. Throws ConfigError if a recorded file cannot be read; a kept file that cannot be read is
/// ignored.
CeilingSource choose_ceiling_source(const DeviceSpec& device, const std::string& spec_id,
                                    const std::optional<std::filesystem::path>& configs,
                                    const std::optional<PresentDevice>& present);

}  // namespace gpuexp
