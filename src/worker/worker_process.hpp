// A process that does an executor's calls, wherever it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuexp {

/// Its first line is a greeting, and serve() follows. Destroyed, it is killed when it still runs.
class WorkerProcess {
 public:
  WorkerProcess() = default;
  virtual ~WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends a line; `line` holds no newline. Throws ChannelClosed when the process has ended.
  virtual void send(std::string_view line) = 0;
  /// The next line; empty when none is complete within `timeout_s`, or when `give_up`, asked now
  /// and then, returns true. Throws ChannelClosed when the process has ended.
  virtual std::optional<std::string> receive(double timeout_s,
                                             const std::function<bool()>& give_up) = 0;

  struct Ending {
    std::string how;  ///< "signal 11 (Segmentation fault)", "exit code 1"
    bool killed;      ///< by SIGKILL
  };
  /// Ends it, unless it has ended, and says how it did.
  virtual Ending end() = 0;
};

}  // namespace gpuexp
