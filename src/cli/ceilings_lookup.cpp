#include "cli/ceilings_lookup.hpp"

#include <cstdlib>

#include "build_info.hpp"
#include "cli/app.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

// Empty where the variable is not set, or to nothing.
fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// The last two are those of the XDG Base Directory Specification, which has relative paths ignored.
std::optional<fs::path> data_dir() {
  if (const fs::path own = folder_in("GPUEXP_DATA_DIR"); !own.empty()) return own;
  if (const fs::path shared = folder_in("XDG_DATA_HOME"); shared.is_absolute())
    return shared / "gpuexp";
  if (const fs::path home = folder_in("HOME"); !home.empty())
    return home / ".local" / "share" / "gpuexp";
  return std::nullopt;
}

}  // namespace

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
  const auto data = data_dir();
  if (!data) return std::nullopt;
  return *data / "ceilings" / (uuid + ".json");
}

}  // namespace gpuexp::cli
