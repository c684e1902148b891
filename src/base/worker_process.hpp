#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

/// A process that sends a greeting as its first line and then calls serve(). The destructor kills
/// it.
class WorkerProcess {
 public:
  WorkerProcess() = default;
  virtual ~WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends a line, which must not contain a newline. Throws ChannelClosed if the process has ended.
  virtual void send(std::string_view line) = 0;
  /// Like Channel::receive. Throws ChannelClosed if the process has ended.
  virtual std::optional<std::string> receive(double timeout_s,
                                             const std::function<bool()>& give_up) = 0;

  struct Ending {
    std::string how;  ///< "signal 11 (Segmentation fault)", "exit code 1"
    bool killed;      ///< ended by SIGKILL
  };
  /// Ends the process if it still runs. Returns how it ended.
  virtual Ending end() = 0;
};

}  // namespace gpuexp
