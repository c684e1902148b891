// A job of processes without GPUs: rank 0 is this one, and agents have fake ranks as workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/scratch_folder.hpp"
#include "worker/job_ranks.hpp"
#include "worker/process.hpp"

namespace gpuexp::test {

/// Processes on this machine that have this word on their command line, but for this one.
std::vector<int> processes_with(const std::string& word);

/// Has agents as children, as a launcher has.
class FakeJob {
 public:
  /// Starts all ranks behind the first but `absent`.
  FakeJob(const std::string& fault, int ranks, int absent = -1);

  /// As rank 0, which waits for the others.
  std::unique_ptr<JobRanks> meet() const { return std::make_unique<JobRanks>(options); }
  std::unique_ptr<WorkerProcess> worker(JobRanks& others, int rank) const;
  ChildProcess& agent(int rank) { return *agents_[static_cast<std::size_t>(rank)]; }

  JobOptions options;

 private:
  ScratchFolder folder_;
  std::string fault_;
  std::vector<std::unique_ptr<ChildProcess>> agents_;  ///< none of rank 0
};

/// What an agent of FakeJob does: `words` are those that FakeJob gave it.
int work_as_agent(const std::vector<std::string>& words);

/// As a process that a launcher started: rank 0 runs all of SpanRun and prints each row's status
/// and reason, the others are agents. The exit code: 0, or 7 when another process is lost.
int work_in_job(const std::string& folder, const std::string& fault);

}  // namespace gpuexp::test
