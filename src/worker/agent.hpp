// The processes of a job behind the first: each has a worker where rank 0 asks for one, and carries
// lines between the two. It knows no CUDA, no MPI, and nothing of what the lines say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/job.hpp"
#include "worker/process.hpp"

namespace gpuexp {

/// Starts a worker with arguments that rank 0 gave. Throws std::system_error.
using StartWorker =
    std::function<std::unique_ptr<ChildProcess>(const std::vector<std::string>& arguments)>;

/// Serves rank 0 until it dismisses this process. From when rank 0 has let it in, SIGINT, SIGTERM
/// and SIGHUP are ignored: launchers send them to all, and rank 0 decides. Throws JobLost when rank
/// 0 does not let it in in time, or is gone; ConfigError as Rendezvous does. No worker is left.
void serve_as_agent(const JobOptions& options, const StartWorker& start);

}  // namespace gpuexp
