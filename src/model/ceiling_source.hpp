// Which ceilings predictions are made from: this device's own, those recorded of its kind, or those
// of another in proportion.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/ceilings_file.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"

namespace gpuexp {

/// A device that is present, and the file that `gpuexp info --measure` keeps for it.
struct PresentDevice {
  MeasuringConditions now;
  std::filesystem::path kept;  ///< may not exist; empty where there is no place for one
  /// Of the links between the machine's GPUs, those that exist.
  std::vector<std::filesystem::path> kept_links = {};
};

/// The ceilings that are nearest to the device's own, completed by the next nearest:
/// 1. those kept of this device, if measured with the driver and toolkit of now;
/// 2. those recorded of its kind: <configs>/ceilings/<spec_id>.json, and of the links between two
/// of
///    them: <spec_id>.links.json;
/// 3. those recorded of the reference GPU, in proportion to both datasheets;
/// 4. the datasheet.
/// The source says which, and why none before it. `spec_id` is empty for a GPU that is not listed.
/// Throws ConfigError when a recorded file cannot be read; a kept one that cannot is passed over,
/// and the source says so.
CeilingSource choose_ceiling_source(const DeviceSpec& device, const std::string& spec_id,
                                    const std::optional<std::filesystem::path>& configs,
                                    const std::optional<PresentDevice>& present);

}  // namespace gpuexp
