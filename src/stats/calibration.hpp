// The minimum effect of a machine, from runs of one binary that ought not to differ.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stats/ratio.hpp"

namespace gpuexp {

/// The share of cells that a comparison of equal binaries may call faster or slower, with 95 %
/// confidence.
inline constexpr double kFalseVerdictRate = 0.01;
/// The share that may be called so among the cells that calibrate. Less would be safer, and would
/// hide slowdowns of some percent for the sake of a few cells that differ by as much from run to
/// run.
inline constexpr double kFalseVerdictsSeen = 0.005;

/// One cell in two runs of one binary.
struct RepeatedCell {
  Interval ratio;  ///< ComparedRow::beyond_circumstances
  double time_us;  ///< median of the faster run
};

struct Calibration {
  MinimumEffect effect;
  std::size_t false_without = 0;  ///< verdicts among the cells where no minimum effect is asked for
  std::size_t false_with = 0;     ///< and with the one found
  /// Upper 95 % bound of the rate of false verdicts before the margin.
  double rate_bound = 1;
  /// What the effect was multiplied by, because so few cells show no rate below rate_bound: 1
  /// where they do.
  double margin = 1;
};

/// The minimum effect of the least mean square over the cells, so that no cell gets one that hides
/// everything for the sake of many that get a little less, whose rate of false verdicts is at most
/// kFalseVerdictsSeen, and kFalseVerdictRate with 95 % confidence. Of `independent` comparisons
/// (cells times runs less one: pairs of few runs repeat each other) at most k may be false, where
/// the Clopper-Pearson bound of k is below the rate. When even none is too many (the rule of three:
/// none of n bounds the rate by 3 / n), the effect that leaves none is multiplied by ln rate / ln
/// bound, as if the differences had an exponential tail, which is heavier than a normal one. Throws
/// std::invalid_argument below kFewestCells independent comparisons.
Calibration calibrate(const std::vector<RepeatedCell>& cells, std::size_t independent);
inline constexpr std::size_t kFewestCells = 100;

/// Upper 95 % bound (one-sided, Clopper and Pearson, Biometrika 26, 1934) of a rate of which `seen`
/// in `of` were seen.
double rate_upper_bound(std::size_t seen, std::size_t of);

struct NoiseFile {
  std::optional<std::string> device;  ///< as the driver names it
  Calibration calibration;
  std::size_t runs = 0;
  std::size_t pairs = 0;        ///< of runs
  std::size_t cells = 0;        ///< that every comparison had
  std::size_t comparisons = 0;  ///< of a cell in a pair
  std::optional<std::string> git_commit;
  std::optional<std::string> driver_version;
  std::optional<std::string> cuda_toolkit;
  std::optional<std::string> utc;  ///< start of the last run
};

inline constexpr int kNoiseSchemaVersion = 1;

std::string to_json(const NoiseFile& file);

/// What a comparison needs of such a file.
struct RecordedEffect {
  MinimumEffect effect;
  std::optional<std::string> device;
};

/// Throws ConfigError naming the file and the place in it.
RecordedEffect read_noise_file(const std::filesystem::path& path);

}  // namespace gpuexp
