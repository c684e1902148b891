// One version of a watched kernel file: compiled, verified and predicted.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "render/version_table.hpp"

namespace gpuexp::cli {

struct WatchedVersion {
  KernelVersion version;  ///< without rows if there is an error
  std::string error;      ///< an error of the file, its declaration or an option; empty: none
  /// Absolute paths of the files that were read, without those of the toolkit and the system.
  std::vector<std::string> files;
  bool is_by_nvrtc = false;                              ///< NVRTC, and not nvcc, compiled the file
  std::vector<std::pair<std::string, double>> stages_s;  ///< "compile" and others, in order
};

/// One line of text, which watched_version_from() of the same program reads.
std::string line_of(const WatchedVersion& version);
/// Throws JsonError for text that line_of() does not write.
WatchedVersion watched_version_from(const std::string& line);

/// Loads the kernel file that the options name, verifies its variants at small sizes, and counts
/// and predicts them at their own sizes, for the GPU of this spec. Errors of the user's files
/// become WatchedVersion::error. Empty if interrupted() became true.
std::optional<WatchedVersion> watched_version(const Context& context, const ConfigOptions& options,
                                              const DeviceSpec& device, double launch_timeout_s);

}  // namespace gpuexp::cli
