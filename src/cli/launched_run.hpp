// One run of several processes, which a launcher (mpirun, srun) started: rank 0 plans, measures and
// writes, the others are agents.
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

/// Does `run` as rank 0 of a job, with the other ranks, or alone, with null; behind rank 0, serves
/// as an agent until rank 0 is done. `is_own` is said of a process that has a part of its own
/// (--shard), and is in no job unless that is asked for. Throws ConfigError.
ExitCode run_as_launched(const Context& context, const LaunchOptions& options, bool is_own,
                         const std::function<ExitCode(JobRanks* others)>& run);

}  // namespace gpuexp::cli
