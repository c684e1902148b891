// The minimum effect of a machine, from runs of one binary, which should not differ.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stats/ratio.hpp"

namespace gpuexp {

/// Maximum share of cells that a comparison of equal binaries may call faster or slower, with 95 %
/// confidence.
inline constexpr double kFalseVerdictRate = 0.01;
/// Maximum share of false verdicts among the cells used for calibration. A smaller share would be
/// safer, but it would hide slowdowns of some percent because of a few cells that differ by as much
/// from run to run.
inline constexpr double kFalseVerdictsSeen = 0.005;

/// One cell in two runs of one binary.
struct RepeatedCell {
  Interval ratio;  ///< ComparedRow::beyond_circumstances
  double time_us;  ///< median of the faster run
};

struct Calibration {
  MinimumEffect effect;
  std::size_t false_without = 0;  ///< verdicts among the cells without a minimum effect
  std::size_t false_with = 0;     ///< verdicts among the cells with `effect`
  /// Upper 95 % bound of the rate of false verdicts, before the margin.
  double rate_bound = 1;
  /// Factor by which the effect was multiplied, because so few cells cannot show a rate of
  /// kFalseVerdictRate; 1 if there are enough.
  double margin = 1;
};

/// Returns the minimum effect with the smallest mean square over the cells, among those whose rate
/// of false verdicts is at most kFalseVerdictsSeen, and at most kFalseVerdictRate with 95 %
/// confidence. The mean square keeps one cell from getting an effect that hides everything while
/// many others get slightly less. `independent` is the number of independent comparisons: cells
/// times runs less one, since pairs of few runs repeat each other. At most k of them may be false,
/// as long as the Clopper-Pearson bound of k is below the rate. If the bound of k = 0 is above it
/// (the rule of three: 0 of n bounds the rate by 3 / n), the effect that leaves no false verdict is
/// multiplied by ln rate / ln bound. This assumes an exponential tail of the differences, which is
/// heavier than a normal one. Throws std::invalid_argument below kFewestCells independent
/// comparisons.
Calibration calibrate(const std::vector<RepeatedCell>& cells, std::size_t independent);
inline constexpr std::size_t kFewestCells = 100;

/// Upper 95 % bound (one-sided, Clopper and Pearson, Biometrika 26, 1934) of a rate, after `seen`
/// events in `of` trials.
double rate_upper_bound(std::size_t seen, std::size_t of);

struct NoiseFile {
  std::optional<std::string> device;  ///< the driver's name of the GPU
  Calibration calibration;
  std::size_t runs = 0;
  std::size_t pairs = 0;        ///< pairs of runs
  std::size_t cells = 0;        ///< cells contained in every comparison
  std::size_t comparisons = 0;  ///< comparisons of a cell in a pair
  std::optional<std::string> git_commit;
  std::optional<std::string> driver_version;
  std::optional<std::string> cuda_toolkit;
  std::optional<std::string> utc;  ///< start of the last run
};

inline constexpr int kNoiseSchemaVersion = 1;

std::string to_json(const NoiseFile& file);

/// The part of a noise file that a comparison reads.
struct RecordedEffect {
  MinimumEffect effect;
  std::optional<std::string> device;
};

/// Throws ConfigError with the file and the place in it.
RecordedEffect read_noise_file(const std::filesystem::path& path);

}  // namespace gpuexp
