// Agents: the processes of a job other than rank 0. On rank 0's request an agent starts a worker,
// and it forwards lines between the worker and rank 0. It uses neither CUDA nor MPI and does not
// interpret the lines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/job.hpp"
#include "worker/process.hpp"

namespace gpuexp {

/// Starts a worker with arguments from rank 0. Throws std::system_error.
using StartWorker =
    std::function<std::unique_ptr<ChildProcess>(const std::vector<std::string>& arguments)>;

/// Serves rank 0 until dismissed. Once accepted, it ignores SIGINT, SIGTERM and SIGHUP: launchers
/// send them to all processes, and rank 0 decides when to stop. Throws JobLost if rank 0 does not
/// accept it in time or ends, and ConfigError like Rendezvous. Leaves no worker running.
void serve_as_agent(const JobOptions& options, const StartWorker& start);

}  // namespace gpuexp
