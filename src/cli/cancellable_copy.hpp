// Work in a copy of this process, which can be cancelled.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/channel.hpp"

namespace gpuexp::cli {

/// A copy of this process, made by fork(). What it allocates and keeps is gone when it ends, and a
/// crash ends only the copy. Construct it while no other thread of this process runs.
class CancellableCopy {
 public:
  /// `work` runs in the copy, where interrupted() becomes true when the work is to end: after
  /// SIGTERM, after SIGINT, and when this process ends. It returns one line of text, or nothing if
  /// it was interrupted. The copy then ends without calling destructors of this process's objects.
  /// Throws std::system_error if the system cannot fork.
  explicit CancellableCopy(const std::function<std::optional<std::string>()>& work);
  /// Sends SIGTERM to the copy unless it has ended, and SIGKILL if it does not end within 2 s.
  ~CancellableCopy();
  CancellableCopy(const CancellableCopy&) = delete;
  CancellableCopy& operator=(const CancellableCopy&) = delete;

  /// Can be read when the copy has ended or its result is available.
  int descriptor() const { return channel_.descriptor(); }

  /// Waits for the line that `work` returned. Throws std::runtime_error that says how the copy
  /// ended if it ended without one.
  std::string result();

 private:
  int waited();  ///< status of the ended copy

  Channel channel_{-1};
  pid_t copy_ = -1;
};

}  // namespace gpuexp::cli
