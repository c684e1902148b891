#pragma once

#include <functional>
#include <string>

#include "cli/app.hpp"
#include "worker/job_ranks.hpp"

namespace gpuexp::cli {

struct LaunchOptions {
  std::string ranks = "auto";
  std::string listen;
  double timeout_s = 60;

  void add_to(Command& command);
};

/// In rank 0 of a job, calls `run` with the other ranks; outside a job, calls `run` with null.
/// Other ranks serve as agents until rank 0 ends. `is_own` marks a process with its own shard
/// (--shard), which joins a job only with --ranks launcher. Throws ConfigError.
ExitCode run_as_launched(const Context& context, const LaunchOptions& options, bool is_own,
                         const std::function<ExitCode(JobRanks* others)>& run);

}  // namespace gpuexp::cli
