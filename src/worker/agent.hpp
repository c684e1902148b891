// Agents: the processes of a job other than rank 0. On rank 0's request, an agent starts a worker
// and forwards lines between the worker and rank 0. An agent uses neither CUDA nor MPI.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/job.hpp"
#include "base/process.hpp"

namespace gpuexp {

using StartWorker =
    std::function<std::unique_ptr<ChildProcess>(const std::vector<std::string>& arguments)>;

/// Serves rank 0 until dismissed, then ends the worker. Ignores SIGINT, SIGTERM and SIGHUP once
/// accepted: launchers send them to all processes, and rank 0 decides when to stop. Throws JobLost
/// if rank 0 ends or does not accept the agent in time, and ConfigError like Rendezvous.
void serve_as_agent(const JobOptions& options, const StartWorker& start);

}  // namespace gpuexp
