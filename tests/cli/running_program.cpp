#include "cli/running_program.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/steady_clock.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

constexpr double kPatienceS = 60;

/// The parent of a process that has not ended.
std::optional<pid_t> parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // "ID (NAME) STATE PARENT …", where NAME may contain blanks and parentheses.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || text.size() < end + 4 || text[end + 2] == 'Z')
    return std::nullopt;
  return std::atoi(text.c_str() + end + 4);
}

}  // namespace

RunningProgram::RunningProgram(const std::vector<std::string>& arguments,
                               const Environment& environment) {
  std::vector<std::string> words{GPUEXP_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  output_ = ends[0];
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    for (const auto& [name, value] : environment)
      ::setenv(name.c_str(), value.c_str(), 1);
    if (::chdir(GPUEXP_SOURCE_DIR) == 0) ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
}

RunningProgram::~RunningProgram() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
}

std::string RunningProgram::until(const std::string& text) {
  const double end_s = steady_seconds() + kPatienceS;
  std::size_t found = std::string::npos;
  while ((found = unread_.find(text)) == std::string::npos && steady_seconds() < end_s && read()) {
  }
  INFO("waited for: " << text << "\n" << unread_);
  REQUIRE(found != std::string::npos);
  std::string taken = unread_.substr(0, found + text.size());
  unread_.erase(0, taken.size());
  return taken;
}

bool RunningProgram::is_quiet(double seconds) {
  const double end_s = steady_seconds() + seconds;
  const std::size_t bytes = unread_.size();
  while (steady_seconds() < end_s)
    read();
  return unread_.size() == bytes;
}

void RunningProgram::signal(int number) const {
  ::kill(process_, number);
}

int RunningProgram::exit_code() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string RunningProgram::rest() {
  const double end_s = steady_seconds() + kPatienceS;
  while (steady_seconds() < end_s && read()) {
  }
  return std::exchange(unread_, {});
}

/// False at the end of the output.
bool RunningProgram::read() {
  pollfd source{output_, POLLIN, 0};
  constexpr int kTickMs = 50;
  if (::poll(&source, 1, kTickMs) <= 0) return true;
  char part[4096];
  const ssize_t bytes = ::read(output_, part, sizeof part);
  if (bytes > 0) unread_.append(part, static_cast<std::size_t>(bytes));
  return bytes > 0;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t id = std::atoi(entry.path().filename().c_str());
    if (id > 0 && parent_of(entry.path()) == parent) children.push_back(id);
  }
  return children;
}

}  // namespace gpuexp::test
