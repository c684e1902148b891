// Going on with a run that ended early.
#pragma once

#include <string>

#include "cli/recorder.hpp"
#include "config/config.hpp"
#include "family/registry.hpp"
#include "gpu/device_query.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

struct Resumable {
  std::string folder;
  RunLog log;
  Config config;  ///< as the log has it, with what the command line had changed
};

/// Reads the log in the folder. Throws ConfigError when there is none, when it was written by
/// another build of this program, or when its config has changed on disk since.
Resumable read_resumable(const std::string& folder, const Registry& registry);

/// Throws ConfigError when the device or the plan is not the one that the run began with.
void check_resumable(const Resumable& resumable, const Plan& plan, const DeviceInfo& device);

/// Keeps the rows of groups that need nothing more, and hands the samples of others to the run.
void keep_finished(const Resumable& resumable, const Plan& plan, Recorder& recorder,
                   RunOptions& options);

}  // namespace gpuexp::cli
