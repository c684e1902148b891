// Going on with a run that ended early.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/recorder.hpp"
#include "config/config.hpp"
#include "family/registry.hpp"
#include "gpu/device_query.hpp"
#include "plan/shard.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

struct Resumable {
  std::string folder;
  RunLog log;
  Config config;  ///< as the log has it, with what the command line had changed
};

/// Reads the log in the folder. Throws ConfigError when there is none, when it was written by
/// another build of this program, when its config or one of its input files has changed on disk
/// since, or when it is not of the shard that was asked for.
Resumable read_resumable(const std::string& folder, const Registry& registry,
                         const std::optional<Shard>& asked_for);

/// Throws ConfigError when the device or the plan is not the one that the run began with.
/// `whole_plan` has the cells of all shards.
void check_resumable(const Resumable& resumable, const Plan& plan,
                     const std::vector<ShardedCell>& whole_plan, const DeviceInfo& device);

/// Keeps the rows of groups that need nothing more, and hands the samples of others to the run.
void keep_finished(const Resumable& resumable, const Plan& plan, Recorder& recorder,
                   RunOptions& options);

}  // namespace gpuexp::cli
