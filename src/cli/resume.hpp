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
  Config config;  ///< from the log, with the overrides of the original command line
};

/// Reads the log in the folder. Throws ConfigError if there is no log, if another build wrote it,
/// if its config or an input file has changed, or if its shard is not `requested_shard`.
Resumable read_resumable(const std::string& folder, const Registry& registry,
                         const std::optional<Shard>& requested_shard);

/// Throws ConfigError if device, plan or ceilings have changed since the start of the run.
/// `whole_plan` has the cells of all shards.
void check_resumable(const Resumable& resumable, const Plan& plan,
                     const std::vector<ShardedCell>& whole_plan, const DeviceInfo& device);

/// Keeps the rows of finished groups. Passes the samples of unfinished groups to the run.
void keep_finished(const Resumable& resumable, const Plan& plan, Recorder& recorder,
                   RunOptions& options);

}  // namespace gpuexp::cli
