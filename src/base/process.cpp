#include "base/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuexp {

namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Runs between fork and exec, where only async-signal-safe functions are allowed.
[[noreturn]] void become_child(int socket, pid_t parent, char* const* arguments) {
  end_with_parent(parent);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_IGN);
  // dup2() of a descriptor onto itself would keep its close-on-exec flag.
  const int spare = ::dup(socket);
  ::dup2(spare, ChildProcess::kChannelDescriptor);
  if (spare != ChildProcess::kChannelDescriptor) ::close(spare);
  ::execv(kThisProgram, arguments);
  ::_exit(127);
}

}  // namespace

void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent ended before prctl()
}

std::pair<int, int> connected_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  return {ends[0], ends[1]};
}

WorkerProcess::Ending ending_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fmt::format("signal {} ({})", signal, ::strsignal(signal)), signal == SIGKILL};
  }
  return {fmt::format("exit code {}", WEXITSTATUS(status)), false};
}

WorkerProcess::Ending end_child(pid_t child) {
  constexpr int kPatienceMs = 200;
  int status = 0;
  pid_t ended = 0;
  for (int ms = 0; ms < kPatienceMs && ended == 0; ++ms) {
    ended = ::waitpid(child, &status, WNOHANG);
    if (ended == 0) ::usleep(1000);
  }
  if (ended == 0) {
    ::kill(child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  return ending_of(status);
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments)
    : ChildProcess(connected_sockets(), arguments) {}

ChildProcess::ChildProcess(std::pair<int, int> sockets, const std::vector<std::string>& arguments)
    : channel_(sockets.first) {
  std::vector<std::string> words{program_invocation_short_name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) become_child(sockets.second, parent, pointers.data());
  const int error = errno;
  ::close(sockets.second);
  if (id_ < 0) {
    errno = error;
    fail("fork");
  }
}

ChildProcess::~ChildProcess() {
  end();
}

WorkerProcess::Ending ChildProcess::end() {
  if (id_ < 0) return {"it had already ended", false};
  channel_.close();
  return end_child(std::exchange(id_, -1));
}

}  // namespace gpuexp
