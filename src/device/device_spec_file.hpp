// Device specs from configs/devices/*.json (format: configs/devices/README.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "device/expected_band.hpp"

namespace gpuexp {

struct DeviceSpecFile {
  DeviceSpec spec;
  std::vector<std::string> aliases;
  std::string architecture;
  ExpectedBands expected;  ///< empty if none are recorded
};

/// Reads one file. Throws ConfigError, which names the file and the JSON path.
DeviceSpecFile read_device_spec(const std::filesystem::path& path);

std::vector<DeviceSpecFile> read_device_specs(const std::filesystem::path& directory);

/// The spec whose id, name or alias equals `name`, ignoring case; otherwise the only spec that
/// matches an abbreviation ("4090", "a100-80gb"). Throws ConfigError, which lists the candidates,
/// or the known ids and how to add a spec.
const DeviceSpecFile& find_device_spec(const std::vector<DeviceSpecFile>& specs,
                                       const std::string& name);

/// The spec of the device with this name from the driver; null if there is none.
const DeviceSpecFile* match_device_name(const std::vector<DeviceSpecFile>& specs,
                                        const std::string& name);

}  // namespace gpuexp
