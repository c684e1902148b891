// Rank 0's side of a job: the agents of the other ranks, and workers behind them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/channel.hpp"
#include "worker/job.hpp"
#include "worker/worker_process.hpp"

namespace gpuexp {

/// The connection to one agent. Of one thread at a time, but for check().
class AgentLink {
 public:
  AgentLink(Channel channel, int rank) : channel_(std::move(channel)), rank_(rank) {}
  /// Dismisses the agent, which ends with its worker.
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  void send(std::string_view line);
  /// As Channel::receive.
  std::optional<std::string> receive(double timeout_s, const std::function<bool()>& give_up);
  /// Throws JobLost where the agent is gone or given up, as the two above do.
  void check() const;
  /// The agent has not answered for so long: what it says from now on belongs to nothing. Throws
  /// JobLost.
  [[noreturn]] void give_up(double after_s);

 private:
  [[noreturn]] void lose(const std::string& how) const;

  Channel channel_;
  int rank_;
  std::atomic<bool> is_silent_{false};
};

/// All of them; destroyed, it dismisses the agents.
class JobRanks {
 public:
  /// Waits for all other ranks. Throws JobLost that names those which have not come in time, and
  /// ConfigError where one has another command line: the processes want to do different things.
  explicit JobRanks(const JobOptions& options);

  int ranks() const { return static_cast<int>(members_.size()); }
  /// A rank's number among those of its host.
  int local_rank(int rank) const {
    return members_[static_cast<std::size_t>(rank)].hello.local_rank;
  }

  /// A worker behind the agent of a rank other than 0. Destroy it before this. It and this throw
  /// JobLost when the agent is gone; this also DeviceError for a rank on another host, which cannot
  /// share memory with this one.
  std::unique_ptr<WorkerProcess> start(int rank, const std::vector<std::string>& arguments);

  /// Throws JobLost where an agent is gone; of any thread.
  void check() const;

 private:
  struct Member {
    std::unique_ptr<AgentLink> link;  ///< none of rank 0
    Hello hello;
  };

  void admit(Channel channel, const JobOptions& options);
  std::string missing() const;

  std::vector<Member> members_;
  std::string disagrees_;  ///< the first that was started with other arguments, and these
};

/// GPUs are told apart by UUID: ordinals mean different GPUs to processes that see different ones.
class GpuOwners {
 public:
  /// Throws DeviceError that names both ranks where another one has this GPU.
  void take(int rank, const std::string& uuid);

 private:
  std::map<std::string, int> ranks_;
};

}  // namespace gpuexp
