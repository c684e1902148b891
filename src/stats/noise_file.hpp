// A machine's minimum effect as a file: what `gpuexp compare --calibrate` writes and --noise reads.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "stats/calibration.hpp"

namespace gpuexp {

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
