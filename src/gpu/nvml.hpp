// NVML, the driver's management library, loaded when first needed; read-only use.
#pragma once

#include <optional>
#include <string>

namespace gpuexp {

/// What NVML says of one GPU at this moment; empty where it does not know or is not there.
struct NvmlReadings {
  std::optional<std::string> driver_version;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<unsigned> temperature_c;
  std::optional<bool> ecc_enabled;
};

/// Readings of the GPU with this UUID ("GPU-…"). Never throws: a machine without NVML gives empty
/// readings.
NvmlReadings read_nvml(const std::string& uuid) noexcept;

}  // namespace gpuexp
