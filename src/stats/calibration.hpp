// The minimum effect of a machine, calibrated with repeated runs of one binary.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stats/ratio.hpp"

namespace gpuexp {

/// Maximum rate of false verdicts between runs of equal binaries, with 95 % confidence.
inline constexpr double kFalseVerdictRate = 0.01;
/// Maximum share of false verdicts among the cells used for calibration. The cells that differ most
/// from run to run may get false verdicts; an effect that covered these cells would hide slowdowns
/// of several percent in all cells.
inline constexpr double kFalseVerdictsSeen = 0.005;

/// One cell in two runs of one binary.
struct RepeatedCell {
  Interval ratio;  ///< interval of the time ratio: ComparedRow::beyond_circumstances
  double time_us;  ///< median of the faster run
};

struct Calibration {
  MinimumEffect effect;
  std::size_t false_without = 0;  ///< false verdicts among the cells with a minimum effect of 0
  std::size_t false_with = 0;     ///< false verdicts among the cells with `effect`
  /// Upper 95 % bound of the rate of false verdicts, before the margin.
  double rate_bound = 1;
  /// Factor by which the effect was multiplied because too few cells were measured to confirm a
  /// rate of kFalseVerdictRate; 1 if there were enough cells.
  double margin = 1;
};

/// Returns the minimum effect with the smallest mean square over the cells, among the effects
/// whose rate of false verdicts is at most kFalseVerdictsSeen, and at most kFalseVerdictRate with
/// 95 % confidence. The mean square prevents an effect that is very large for one cell and only
/// slightly smaller for the other cells.
///
/// `independent` is the number of independent comparisons, cells × (runs - 1): pairs of the same
/// runs are correlated. At most the share k / `independent` of the cells may give a false verdict,
/// where k is the largest number up to kFalseVerdictsSeen × `independent` whose Clopper-Pearson
/// bound is at most kFalseVerdictRate. If the bound of k = 0 exceeds the rate
/// (0 of n bounds the rate by about 3 / n), the effect that leaves no false verdict is multiplied
/// by ln rate / ln bound. This factor assumes that differences have an exponential tail, which is
/// heavier than a normal one. Throws std::invalid_argument for fewer than kFewestCells
/// independent comparisons.
Calibration calibrate(const std::vector<RepeatedCell>& cells, std::size_t independent);
inline constexpr std::size_t kFewestCells = 100;

/// Upper 95 % bound (one-sided, Clopper and Pearson, Biometrika 26, 1934) of the rate of an event
/// that occurred `seen` times in `of` trials.
double rate_upper_bound(std::size_t seen, std::size_t of);

struct NoiseFile {
  std::optional<std::string> device;
  Calibration calibration;
  std::size_t runs = 0;
  std::size_t pairs = 0;
  std::size_t cells = 0;        ///< number of cells that every comparison contains
  std::size_t comparisons = 0;  ///< number of comparisons: cells × pairs
  std::optional<std::string> git_commit;
  std::optional<std::string> driver_version;
  std::optional<std::string> cuda_toolkit;
  std::optional<std::string> utc;
};

inline constexpr int kNoiseSchemaVersion = 1;

std::string to_json(const NoiseFile& file);

struct RecordedEffect {
  MinimumEffect effect;
  std::optional<std::string> device;
};

/// Throws ConfigError, which names the file and the JSON path of the error.
RecordedEffect read_noise_file(const std::filesystem::path& path);

}  // namespace gpuexp
