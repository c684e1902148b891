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

#include "base/channel.hpp"
#include "worker/job.hpp"
#include "base/worker_process.hpp"

namespace gpuexp {

/// The connection to one agent. Apart from check(), only one thread at a time may use it.
class AgentLink {
 public:
  AgentLink(Channel channel, int rank) : channel_(std::move(channel)), rank_(rank) {}
  /// Dismisses the agent, which then ends its worker and itself.
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  void send(std::string_view line);
  /// Like Channel::receive, but throws JobLost.
  std::optional<std::string> receive(double timeout_s, const std::function<bool()>& give_up);
  /// Throws JobLost if the agent has ended or was given up, as do send() and receive().
  void check() const;
  /// Ends the use of the agent after `after_s` seconds without an answer, because a late answer
  /// could be taken for the answer to another request. Throws JobLost.
  [[noreturn]] void give_up(double after_s);

 private:
  [[noreturn]] void lose(const std::string& how) const;

  Channel channel_;
  int rank_;
  std::atomic<bool> is_silent_{false};
};

/// The agents of all ranks; the destructor dismisses them.
class JobRanks {
 public:
  /// Waits for all other ranks. Throws JobLost that names the missing ranks, and ConfigError if the
  /// command line of a rank differs.
  explicit JobRanks(const JobOptions& options);

  int ranks() const { return static_cast<int>(members_.size()); }
  int local_rank(int rank) const {
    return members_[static_cast<std::size_t>(rank)].hello.local_rank;
  }

  /// Starts a worker through the agent of a rank other than 0; destroy the worker before this
  /// object. Throws DeviceError for a rank on another host, which cannot share memory with this
  /// host. start() and the worker's functions throw JobLost if the agent has ended.
  std::unique_ptr<WorkerProcess> start(int rank, const std::vector<std::string>& arguments);

  /// Throws JobLost if an agent has ended. Thread-safe.
  void check() const;

 private:
  struct Member {
    std::unique_ptr<AgentLink> link;  ///< null for rank 0
    Hello hello;
  };

  void admit(Channel channel, const JobOptions& options);
  std::string missing() const;

  std::vector<Member> members_;
  std::string argument_mismatch_;  ///< message about the first rank with different arguments
};

/// Which rank owns which GPU. GPUs are identified by UUID, because their indices differ between
/// processes that see different GPUs.
class GpuOwners {
 public:
  /// Assigns the GPU to the rank. Throws DeviceError if another rank owns the GPU.
  void take(int rank, const std::string& uuid);

 private:
  std::map<std::string, int> ranks_;
};

}  // namespace gpuexp
