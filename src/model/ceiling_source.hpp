// Choice of the ceilings for predictions: measured on this device, recorded for its model, or
// scaled from another GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/ceilings_file.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"

namespace gpuexp {

/// A GPU of this machine, and its file from `gpuexp info --measure`.
struct PresentDevice {
  MeasuringConditions now;
  std::filesystem::path kept;  ///< may not exist; empty if no folder for such files exists
  /// Existing files with ceilings of the links between the machine's GPUs.
  std::vector<std::filesystem::path> kept_links = {};
};

/// Returns each ceiling from the first source that has it:
/// 1. file kept for this device, if measured with the present driver and toolkit;
/// 2. recorded for its model: <configs>/ceilings/<spec_id>.json, <spec_id>.links.json for links;
/// 3. recorded for the reference GPU, scaled by the ratio of the datasheets;
/// 4. the datasheet.
/// `source` names the first source used, and why the kept file was not. `spec_id` is empty for an
/// unlisted GPU. Throws ConfigError if a recorded file cannot be read; ignores an unreadable
/// kept file.
CeilingSource choose_ceiling_source(const DeviceSpec& device, const std::string& spec_id,
                                    const std::optional<std::filesystem::path>& configs,
                                    const std::optional<PresentDevice>& present);

}  // namespace gpuexp
