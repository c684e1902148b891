#include "cli/results_file.hpp"

#include <filesystem>

#include "cli/app.hpp"
#include "results/json_read.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

Report read_results(const std::string& file) {
  try {
    const std::filesystem::path path(file);
    if (!std::filesystem::is_directory(path)) return read_report(file);
    return read_run_log(path / kRunLogName).report;
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

std::optional<double> dram_bytes_per_s(const DeviceProvenance& device) {
  if (device.memory_bytes_per_s) return device.memory_bytes_per_s;
  const auto directory = find_config_dir();
  if (!directory || !device.name) return std::nullopt;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* spec = match_device_name(specs, *device.name);
  return spec ? std::optional(spec->spec.memory_bytes_per_s) : std::nullopt;
}

}  // namespace gpuexp::cli
