#include "cli/ceilings_lookup.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "build_info.hpp"
#include "cli/app.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

}  // namespace

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> kept_links() {
  std::vector<std::string> uuids;
  for (int i = 0; i < device_count(); ++i) {
    if (const auto uuid = device_uuid(i)) uuids.push_back(*uuid);
  }
  std::vector<fs::path> kept;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto path = link_ceilings_path(uuids[i], uuids[j]);
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
  const PresentDevice present{conditions_of(device), ceilings_path(device.uuid).value_or(""),
                              kept_links()};
  return choose_ceiling_source(device.spec, device.spec_id, find_config_dir(), present);
}

MeasuringConditions conditions_of(const DeviceInfo& device) {
  return {device.uuid, device.driver_version.value_or(""),
          std::string(build_info::cuda_compiler_version)};
}

std::optional<fs::path> ceilings_path(const std::string& uuid) {
  const auto data = user_folder("GPUEXP_DATA_DIR", "XDG_DATA_HOME", ".local/share");
  if (!data) return std::nullopt;
  return *data / "ceilings" / (uuid + ".json");
}

std::optional<fs::path> link_ceilings_path(const std::string& uuid, const std::string& other) {
  return ceilings_path(fmt::format("{}+{}", std::min(uuid, other), std::max(uuid, other)));
}

std::optional<fs::path> user_folder(const char* own, const char* shared, const char* in_home) {
  if (const fs::path folder = folder_in(own); !folder.empty()) return folder;
  if (const fs::path folder = folder_in(shared); folder.is_absolute()) return folder / "gpuexp";
  if (const fs::path home = folder_in("HOME"); !home.empty()) return home / in_home / "gpuexp";
  return std::nullopt;
}

}  // namespace gpuexp::cli
