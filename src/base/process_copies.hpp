// Copies of this process, made by fork(), in which code may crash without ending this process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "base/channel.hpp"
#include "base/worker_process.hpp"

namespace gpuexp {

/// A copy has the memory that this process had when the ProcessCopies were constructed, so nothing
/// has to be sent to it. A copy has only one thread, and mutexes that other threads held at that
/// time stay locked in it: construct ProcessCopies while no other thread of this process runs.
///
/// The constructor forks a template, which forks each later copy, so that copies can be started
/// while this process runs several threads. The template also forks a standby, which replaces the
/// template if something kills it, and then forks the next standby. Templates and copies ignore
/// SIGINT, SIGTERM and SIGHUP, which terminals send to whole process groups. They end when this
/// process ends, and a copy also when its template ends.
class ProcessCopies {
 public:
  /// `body` runs in each copy with its end of the channel; the copy ends when `body` returns, or
  /// throws. Throws std::system_error if the system cannot fork.
  explicit ProcessCopies(const std::function<void(Channel&)>& body);
  /// Ends the template and the standby. Copies that were started must have been destroyed.
  ~ProcessCopies();
  ProcessCopies(const ProcessCopies&) = delete;
  ProcessCopies& operator=(const ProcessCopies&) = delete;

  /// Starts a copy, if the template has ended from the standby. The copy's destructor kills it.
  /// Several threads may call this function. Throws std::system_error, also if both have ended.
  std::unique_ptr<WorkerProcess> start();

 private:
  class Copy;

  /// These functions need mutex_.
  template <class Answer>
  std::optional<Answer> ask(pid_t request, int sent_socket);
  Channel new_standby();
  bool replace_template();

  WorkerProcess::Ending end(pid_t copy, std::size_t of_template);

  std::mutex mutex_;  ///< held from a request to the template until its answer
  Channel template_{-1};
  Channel standby_{-1};           ///< closed: none could be started
  pid_t child_ = -1;              ///< the first template; -1 once the standby has replaced it
  std::size_t replacements_ = 0;  ///< number of templates that have ended
};

}  // namespace gpuexp
