#include "cli/cancellable_copy.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"
#include "base/steady_clock.hpp"
#include "cli/app.hpp"

namespace gpuexp::cli {

namespace {

[[noreturn]] void run_cancellable(const std::function<std::optional<std::string>()>& work,
                                  int socket) {
  int code = EXIT_SUCCESS;
  interrupt_at_parent_exit();
  try {
    Channel channel(socket);
    if (const auto line = work()) channel.send(*line);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpuexp: {}\n", error.what());
    code = EXIT_FAILURE;
  }
  std::fflush(stderr);
  std::_Exit(code);
}

}  // namespace

CancellableCopy::CancellableCopy(const std::function<std::optional<std::string>()>& work) {
  const auto [here, there] = connected_sockets();
  channel_ = Channel(here);
  std::fflush(nullptr);  // the copy must not write buffered output again
  copy_ = ::fork();
  const int error = errno;
  if (copy_ == 0) {
    channel_.close();
    run_cancellable(work, there);
  }
  ::close(there);
  if (copy_ < 0) throw std::system_error(error, std::generic_category(), "fork");
}

CancellableCopy::~CancellableCopy() {
  if (copy_ < 0) return;
  constexpr double kToEndS = 2;
  constexpr useconds_t kPauseUs = 500;
  ::kill(copy_, SIGTERM);
  const double end_s = steady_seconds() + kToEndS;
  while (::waitpid(copy_, nullptr, WNOHANG) == 0) {
    if (steady_seconds() >= end_s) {
      ::kill(copy_, SIGKILL);
      waited();
      return;
    }
    ::usleep(kPauseUs);
  }
}

int CancellableCopy::waited() {
  int status = 0;
  while (::waitpid(copy_, &status, 0) < 0 && errno == EINTR) {
  }
  copy_ = -1;
  return status;
}

std::string CancellableCopy::result() {
  std::string line;
  try {
    line = channel_.receive();
  } catch (const ChannelClosed&) {
    throw std::runtime_error(
        fmt::format("the process that executed the kernels ended: {}", ending_of(waited()).how));
  }
  waited();
  return line;
}

}  // namespace gpuexp::cli
