// What rank 0 of a job and an agent say to each other, in lines. The first is the secret, the
// second the agent's Hello. After that, a line that begins with kOfWorker belongs to the worker or
// comes from it; others are JSON: rank 0's {"welcome"}, {"refused": why}, {"start": [argument…]},
// {"end"} and {"dismissed"}, and the agent's {"ended": how, "killed": by SIGKILL}, one for each
// start.
#pragma once

#include <string>
#include <vector>

#include "worker/job.hpp"

namespace gpuexp {

inline constexpr char kOfWorker = '=';

/// How a process of a job presents itself.
struct Hello {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  std::string boot;                    ///< tells hosts apart, whatever they are called
  std::vector<std::string> arguments;  ///< of its command line
};

Hello hello_of(const JobOptions& options);
std::string to_line(const Hello& hello);
/// Throws JsonError for another line.
Hello hello_from(const std::string& line);

}  // namespace gpuexp
