// Whether a GPU is healthy: its state against how such a GPU is meant to run, its ceilings against
// the bands in which those of healthy ones fall (docs/health.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "device/device_state.hpp"
#include "device/expected_band.hpp"

namespace gpuexp {

enum class FindingVerdict {
  pass,
  note,     ///< worth knowing, and no fault
  unknown,  ///< the driver does not say, or nobody has recorded what to expect
  off
};
std::string_view name_of(FindingVerdict verdict);

/// One thing that was looked at.
struct Finding {
  FindingVerdict verdict = FindingVerdict::unknown;
  std::string topic;     ///< "ECC", "power limit", "dram_copy"
  std::string found;     ///< "500 W"; "unknown" where the driver does not say
  std::string expected;  ///< "700 W"; may be empty
  std::string cost;      ///< what it does to measurements, or by how much it is beside its band
  /// Of what is off: the command that shows or changes it, in which "-i GPU " stands for this one.
  std::string cure;
  std::string likely;  ///< of a figure that is off: what else was found and may be the reason

  bool operator==(const Finding&) const = default;
};

/// A ceiling beside the band of its kind.
struct FigureFinding {
  const CeilingTerm* term = nullptr;
  std::optional<MeasuredCeiling> measured;  ///< empty where a band waits for it
  std::optional<ExpectedBand> band;         ///< empty where nobody has recorded one
  std::optional<double> datasheet;          ///< in the unit of the term
  Finding finding;
};

/// A clock below this share of its maximum is held down. Without the power cap, the median of an
/// H200's rows is 0.4 % below it (docs/results/h200/all.csv), and a step of the clock is less than
/// another 1 %.
inline constexpr double kHeldClockShare = 0.95;
/// The memory clock has a few steps alone, so that whatever is below the highest is another step.
inline constexpr double kHeldMemoryClockShare = 0.99;
/// The driver lets GeForce boards compute in performance state 2 ("CUDA - Force P2 State"), with a
/// lower memory clock, so that large data sets meet no errors that no ECC would find (NVIDIA, as
/// quoted in https://babeltechreviews.com/nvidia-cuda-force-p2-state/): 9501 instead of 9751 MHz on
/// an RTX 3090 (https://github.com/nicehash/NiceHashQuickMiner/issues/206). Twice that much and
/// more is another thing.
inline constexpr double kComputeStateClockShare = 0.95;
/// Nearer to the slowdown than this, a warmer room or a longer load would reach it.
inline constexpr double kLeastSlowdownMarginC = 5;
/// Datasheets print rates with two or three digits.
inline constexpr double kAboveDatasheet = 1.01;
/// A limit is set in whole watts.
inline constexpr double kPowerLimitStepW = 0.5;

/// One of every topic, in the order in which they are shown. `device` has the clock that its kind
/// is sold with, which on GeForce boards is below the highest that the driver names.
std::vector<Finding> state_findings(const DeviceState& state, const DeviceSpec& device);

/// One of every ceiling that was measured or has a band, in the order of the terms. Why one is low
/// is looked for in the state, which may be empty.
std::vector<FigureFinding> figure_findings(const MeasuredCeilings& measured,
                                           const ExpectedBands& bands, const DeviceState& state,
                                           const DeviceSpec& device);

/// Of a time, less is better.
bool less_is_better(const CeilingTerm& term);

}  // namespace gpuexp
