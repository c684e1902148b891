// A child process that is this program again, and a channel to it.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "worker/channel.hpp"

namespace gpuexp {

/// Runs this program's executable with other arguments. The child finds its end of the channel at
/// kChannelDescriptor, shares standard output and error, ignores SIGINT, SIGTERM and SIGHUP, which
/// terminals send to whole groups, and is killed when its parent ends.
class ChildProcess {
 public:
  static constexpr int kChannelDescriptor = 3;

  /// `arguments` without the program's name. Throws std::system_error.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  /// Kills it when it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Channel& channel() { return channel_; }
  pid_t id() const { return id_; }

  struct Ending {
    std::string how;  ///< "signal 11 (Segmentation fault)", "exit code 1"
    bool killed;      ///< by SIGKILL
  };
  /// Ends it, unless it has ended, and says how it did.
  Ending end();

 private:
  explicit ChildProcess(std::pair<int, int> sockets, const std::vector<std::string>& arguments);

  Channel channel_;
  pid_t id_ = -1;
};

}  // namespace gpuexp
