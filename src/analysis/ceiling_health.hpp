// Comparison of a GPU's ceilings with the bands of healthy GPUs of its model (docs/health.md), and
// of its links with the expected links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/health.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "device/expected_band.hpp"
#include "device/topology.hpp"

namespace gpuexp {

/// A ceiling and its band.
struct CeilingFinding {
  const CeilingTerm* term = nullptr;
  std::optional<MeasuredCeiling> measured;  ///< empty if not measured
  std::optional<ExpectedBand> band;         ///< empty if no band is recorded
  std::optional<double> datasheet;          ///< value of the datasheet, in the unit of the term
  Finding finding;
};

/// A ceiling above this multiple of its datasheet value is suspect; datasheets round to two or three
/// digits.
inline constexpr double kAboveDatasheet = 1.01;

/// One finding for every ceiling that was measured or has a band, in the order of the terms. The
/// state, which may be empty, gives the likely cause of a ceiling that is worse than its band.
std::vector<CeilingFinding> ceiling_findings(const MeasuredCeilings& measured,
                                           const ExpectedBands& bands, const DeviceState& state,
                                           const DeviceSpec& device);

/// The links between a GPU and another GPU of the machine.
struct LinkHealth {
  int peer = 0;  ///< device index of the other GPU
  std::string peer_uuid;
  std::string way;             ///< the links as text, such as "NV18"
  std::vector<Finding> state;  ///< findings on the link; empty if only a file was checked
  std::vector<CeilingFinding> ceilings;
};

/// Findings on peer access and on active NVLinks. If the machine has NVLink switches, the number of
/// links must provide the datasheet's rate. `listed` is the machine in configs/devices; it may list
/// no links.
std::vector<Finding> link_findings(const GpuLink& link, const std::string& way,
                                   const Machine& listed);

}  // namespace gpuexp
