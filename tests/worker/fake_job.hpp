// A job of processes without GPUs: this process is rank 0, and agents have fake ranks as workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/scratch_folder.hpp"
#include "worker/job_ranks.hpp"
#include "base/process.hpp"

namespace gpuexp::test {

/// Ids of other processes on this machine with this word on their command line.
std::vector<int> processes_with(const std::string& word);

/// Starts agents as children, like a launcher.
class FakeJob {
 public:
  /// Starts all ranks except 0 and `absent`.
  FakeJob(const std::string& fault, int ranks, int absent = -1);

  /// Connects as rank 0, which waits for the others.
  std::unique_ptr<JobRanks> connect() const { return std::make_unique<JobRanks>(options); }
  std::unique_ptr<WorkerProcess> worker(JobRanks& others, int rank) const;
  ChildProcess& agent(int rank) { return *agents_[static_cast<std::size_t>(rank)]; }

  JobOptions options;

 private:
  ScratchFolder folder_;
  std::string fault_;
  std::vector<std::unique_ptr<ChildProcess>> agents_;  ///< agents of ranks 1, 2, …
};

/// Runs an agent of FakeJob; `words` are its arguments.
int work_as_agent(const std::vector<std::string>& words);

/// Runs as a process that a launcher started: rank 0 runs SpanRun and prints each row's status and
/// reason, other ranks are agents. Returns the exit code: 0, or 7 if another process is lost.
int work_in_job(const std::string& folder, const std::string& fault);

}  // namespace gpuexp::test
