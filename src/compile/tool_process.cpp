#include "compile/tool_process.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr int kNotStarted = 127;  // as in shells

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool lower_limit(int resource, rlim_t value) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return false;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value) value = limit.rlim_max;
  limit.rlim_cur = value;
  limit.rlim_max = value;
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

bool open_as(int descriptor, const char* path, int flags) {
  const int opened = ::open(path, flags, 0600);
  if (opened < 0) return false;
  const bool moved = ::dup2(opened, descriptor) == descriptor;
  if (opened != descriptor) ::close(opened);
  return moved;
}

// Runs after fork(). Calls only async-signal-safe functions, as required before exec(). The limit
// on processor time also ends grandchildren that survive the program. Returns whether all
// succeeded.
bool become_limited(const ToolCommand& command, const ToolLimits& limits, pid_t parent) {
  ::setpgid(0, 0);
  end_with_parent(parent);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr int kNewFile = O_WRONLY | O_CREAT | O_TRUNC;
  const bool is_ready = open_as(STDERR_FILENO, command.errors.c_str(), kNewFile) &&
                        open_as(STDOUT_FILENO, command.output.c_str(), kNewFile) &&
                        open_as(STDIN_FILENO, "/dev/null", O_RDONLY) &&
                        ::chdir(command.folder.c_str()) == 0 && lower_limit(RLIMIT_CORE, 0) &&
                        lower_limit(RLIMIT_AS, limits.memory_bytes) &&
                        lower_limit(RLIMIT_FSIZE, limits.file_bytes) &&
                        lower_limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(limits.time_s)) + 1);
#ifdef SYS_close_range
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);  // files and sockets of this program
#endif
  return is_ready;
}

[[noreturn]] void fail_to_start() {
  constexpr std::string_view kMessage = "the system cannot start the program";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(kNotStarted);
}

enum class Wait { ended, timed_out, interrupted };

// Waits until the process ends, within the limits. An ended process remains a zombie, so that its
// id and the id of its group are not used again before the group is killed.
Wait waited(pid_t process, const ToolLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limits.time_s);
  constexpr useconds_t kPauseUs = 500;
  while (true) {
    siginfo_t ended{};
    const int failed =
        ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (failed == 0 && ended.si_pid == process) return Wait::ended;
    if (failed != 0 && errno != EINTR) return Wait::ended;
    if (limits.interrupted && limits.interrupted()) return Wait::interrupted;
    if (Clock::now() >= end) return Wait::timed_out;
    ::usleep(kPauseUs);
  }
}

std::string ending_text(int status, const ToolLimits& limits) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const std::string text = fmt::format("signal {} ({})", signal, ::strsignal(signal));
  if (signal == SIGXFSZ)
    return fmt::format("{}: it wrote a file of more than {}", text,
                       bytes_text(static_cast<double>(limits.file_bytes)));
  return text;
}

/// Runs `start`, which does not return, in a child process with the limits.
template <class Start>
std::string run_limited(const ToolCommand& command, const ToolLimits& limits, const Start& start) {
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    if (become_limited(command, limits, parent)) start();
    fail_to_start();
  }
  if (process < 0) return fmt::format("not started: {}", std::strerror(errno));
  ::setpgid(process, process);  // the child may not have done so yet
  const Wait wait = waited(process, limits);
  ::kill(-process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return "no status";
  }
  if (wait == Wait::interrupted) return "interrupted";
  if (wait == Wait::timed_out)
    return fmt::format("stopped after {} s", significant(limits.time_s, 3));
  return ending_text(status, limits);
}

}  // namespace

std::string run_process(const ToolCommand& command, const ToolLimits& limits) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = command.environment;
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(environment);
  return run_limited(command, limits, [&] { ::execve(argv[0], argv.data(), envp.data()); });
}

std::string run_in_copy(const ToolCommand& command, const ToolLimits& limits,
                        const std::function<int()>& work) {
  std::fflush(nullptr);  // the copy must not write buffered output again
  return run_limited(command, limits, [&] {
    const int code = work();
    std::fflush(nullptr);
    ::_exit(code);
  });
}

}  // namespace gpuexp
