// Copies of this process, made by fork(), in which code may crash without ending this process.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include <sys/types.h>

#include "base/channel.hpp"
#include "base/worker_process.hpp"

namespace gpuexp {

/// A copy has the memory that this process had when the ProcessCopies were constructed, so nothing
/// has to be sent to it. A copy has only one thread, and mutexes that other threads held at that
/// time stay locked in it: construct ProcessCopies while no other thread of this process runs.
///
/// The constructor forks a template, which forks each later copy, so that copies can be started
/// while this process runs several threads. Template and copies ignore SIGINT, SIGTERM and SIGHUP,
/// which terminals send to whole process groups. The system kills them when this process or the
/// thread that constructed this object ends.
class ProcessCopies {
 public:
  /// `body` runs in each copy with its end of the channel; the copy ends when `body` returns, or
  /// throws. Throws std::system_error if the system cannot fork.
  explicit ProcessCopies(const std::function<void(Channel&)>& body);
  /// Kills the template. Copies that were started must have been destroyed.
  ~ProcessCopies();
  ProcessCopies(const ProcessCopies&) = delete;
  ProcessCopies& operator=(const ProcessCopies&) = delete;

  /// Starts a copy. The copy's destructor kills it. Several threads may call this function. Throws
  /// std::system_error.
  std::unique_ptr<WorkerProcess> start();

 private:
  class Copy;

  template <class Answer>
  Answer ask(pid_t ended_copy, int sent_socket);

  std::mutex mutex_;  ///< held from a request to the template until its answer
  int template_socket_ = -1;
  pid_t template_ = -1;
};

}  // namespace gpuexp
