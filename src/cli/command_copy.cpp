#include "cli/command_copy.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"

namespace gpuexp::cli {

namespace {

volatile pid_t g_copy = 0;

void forward(int signal) {
  ::kill(g_copy, signal);
}

}  // namespace

std::optional<ExitCode> exit_code_of_copy() {
  std::fflush(nullptr);  // the copy must not write this process's buffered output again
  const pid_t parent = ::getpid();
  const pid_t copy = ::fork();
  if (copy < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (copy == 0) {
    end_with_parent(parent);
    return std::nullopt;
  }
  g_copy = copy;
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, forward);
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGINT || signal == SIGTERM) return ExitCode::interrupted;
  if (signal == SIGPIPE) {  // the reader of the output has ended: end as the copy did
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  fmt::print(stderr, "gpuexp: the process that executed the kernels ended: {}\n",
             ending_of(status).how);
  return ExitCode::internal;
}

}  // namespace gpuexp::cli
