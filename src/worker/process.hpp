#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "worker/channel.hpp"
#include "worker/worker_process.hpp"

namespace gpuexp {

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
