#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/ceiling_health.hpp"

namespace gpuexp {

struct HealthReport {
  std::string device;      ///< name from the driver
  std::string uuid;        ///< "GPU-…"
  std::string spec_id;     ///< id in configs/devices; empty if the device is not listed
  std::string source;      ///< source of the ceilings: "measured in 31.2 s"
  std::string utc;         ///< time of the measurement
  std::string git_commit;  ///< commit of the gpuexp that measured the ceilings
  std::optional<DeviceState> before;
  std::optional<DeviceState> after;  ///< with the load's readings
  std::vector<Finding> state;        ///< empty if only a file was checked
  std::vector<CeilingFinding> ceilings;
  std::vector<LinkHealth> links;  ///< to other GPUs of the machine
};

enum class HealthVerdict {
  healthy,  ///< something passed, nothing failed, and every ceiling with a band was measured
  off,
  unjudged  ///< no check passed, or ceilings with a band were not measured
};
HealthVerdict verdict_of(const HealthReport& report);

/// Findings on state and ceilings of the GPU and of its links; a link's topics name the other GPU.
std::vector<Finding> all_findings(const HealthReport& report);

/// The finding's cure with this GPU's UUID, so that the command can be copied. For a MIG instance,
/// the placeholder remains, because nvidia-smi needs the UUID of the whole GPU.
std::string cure_of(const HealthReport& report, const Finding& finding);

/// Tables of state and ceilings, notes and failed checks with cost and cure, and the verdict in the
/// last line. UTF-8; paragraphs are wrapped at `width` columns, or not wrapped if `width` is 0.
std::string health_text(const HealthReport& report, std::size_t width);

}  // namespace gpuexp
