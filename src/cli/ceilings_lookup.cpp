#include "cli/ceilings_lookup.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/own_folder.hpp"

namespace gpuexp::cli {

namespace fs = std::filesystem;

namespace {

/// Of all pairs of this machine's GPUs.
std::vector<fs::path> kept_links() {
  std::vector<std::string> uuids;
  for (int i = 0; i < device_count(); ++i) {
    if (const auto uuid = device_uuid(i)) uuids.push_back(*uuid);
  }
  std::vector<fs::path> kept;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto path = kept_link_ceilings(uuids[i], uuids[j]);
      if (path && fs::exists(*path)) kept.push_back(*path);
    }
  }
  return kept;
}

}  // namespace

CeilingSource ceiling_source_of(const DeviceSpec& device, const std::string& spec_id) {
  return choose_ceiling_source(device, spec_id, find_config_dir(), std::nullopt);
}

CeilingSource ceiling_source_of(const DeviceInfo& device) {
  const PresentDevice present{conditions_of(device), kept_ceilings(device.uuid).value_or(""),
                              kept_links()};
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

std::optional<fs::path> kept_link_ceilings(const std::string& uuid, const std::string& other) {
  return kept_ceilings(fmt::format("{}+{}", std::min(uuid, other), std::max(uuid, other)));
}

}  // namespace gpuexp::cli
