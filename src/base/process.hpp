#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/channel.hpp"
#include "base/worker_process.hpp"

namespace gpuexp {

/// Two connected stream sockets, which exec() closes. Throws std::system_error.
std::pair<int, int> connected_sockets();

/// Called in a child: the system kills it when the thread of `parent` that forked it ends. Ends the
/// child if `parent` has already ended. Async-signal-safe.
void end_with_parent(pid_t parent);

/// How a child with this status of waitpid() ended.
WorkerProcess::Ending ending_of(int status);

/// Kills the child process unless it ends by itself within 0.2 s. A child that is about to end thus
/// keeps its exit status.
WorkerProcess::Ending end_child(pid_t child);

/// Runs this program's executable with other arguments. The child has its end of the channel at
/// kChannelDescriptor, and this process's standard output and error. It ignores SIGINT, SIGTERM and
/// SIGHUP, which terminals send to whole process groups, and is killed when this process ends.
class ChildProcess final : public WorkerProcess {
 public:
  static constexpr int kChannelDescriptor = 3;

  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess() override;

  void send(std::string_view line) override { channel_.send(line); }
  std::optional<std::string> receive(double timeout_s,
                                     const std::function<bool()>& give_up) override {
    return channel_.receive(timeout_s, give_up);
  }
  Ending end() override;

  Channel& channel() { return channel_; }
  pid_t id() const { return id_; }

 private:
  explicit ChildProcess(std::pair<int, int> sockets, const std::vector<std::string>& arguments);

  Channel channel_;
  pid_t id_ = -1;
};

}  // namespace gpuexp
