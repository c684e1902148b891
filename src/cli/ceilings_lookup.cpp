#include "cli/ceilings_lookup.hpp"

#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/own_folder.hpp"

namespace gpuexp::cli {

namespace fs = std::filesystem;

CeilingSource ceiling_source_of(const DeviceSpec& device, const std::string& spec_id) {
  return choose_ceiling_source(device, spec_id, find_config_dir(), std::nullopt);
}

CeilingSource ceiling_source_of(const DeviceInfo& device) {
  const PresentDevice present{conditions_of(device), kept_ceilings(device.uuid).value_or("")};
  return choose_ceiling_source(device.spec, device.spec_id, find_config_dir(), present);
}

MeasuringConditions conditions_of(const DeviceInfo& device) {
  return {device.uuid, device.driver_version.value_or(""),
          std::string(build_info::cuda_compiler_version)};
}

std::optional<fs::path> kept_ceilings(const std::string& uuid) {
  const auto data = own_folder("GPUEXP_DATA_DIR", "XDG_DATA_HOME", ".local/share");
  if (!data) return std::nullopt;
  return *data / "ceilings" / (uuid + ".json");
}

}  // namespace gpuexp::cli
