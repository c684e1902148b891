// What `info --check` found, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/figure_health.hpp"

namespace gpuexp {

/// All that one check found.
struct HealthReport {
  std::string device;      ///< as the driver names it
  std::string uuid;        ///< "GPU-…"
  std::string spec_id;     ///< in configs/devices; empty where none is listed for it
  std::string source;      ///< where figures come from: "measured in 31.2 s"
  std::string utc;         ///< when they were measured
  std::string git_commit;  ///< that gpuexp was built from, which measured them
  std::optional<DeviceState> before;
  std::optional<DeviceState> after;  ///< with the load's readings
  std::vector<Finding> state;        ///< empty where only a file was looked at
  std::vector<FigureFinding> figures;
  std::vector<LinkHealth> links;  ///< to other GPUs of the machine
};

enum class HealthVerdict {
  healthy,  ///< something passed, nothing failed, and every figure with a band was measured
  off,
  unjudged  ///< nothing is known to judge by, or not all of it was measured
};
HealthVerdict verdict_of(const HealthReport& report);

/// Of the state and of figures, of the GPU and of its links, whose topics name the other GPU.
std::vector<Finding> all_findings(const HealthReport& report);

/// The finding's cure with this GPU's UUID, which nvidia-smi takes, so that commands can be copied.
/// That of a MIG instance is not the one of the GPU to change, and is left out.
std::string cure_of(const HealthReport& report, const Finding& finding);

/// Tables of state and figures, what failed with its cost and cure, and the verdict in a last line.
/// UTF-8; paragraphs end at `width` columns, and nowhere for 0.
std::string health_text(const HealthReport& report, std::size_t width);

}  // namespace gpuexp
