#include "base/process_copies.hpp"

#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "base/steady_clock.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr double kCopyAnswersWithinS = 60;

std::optional<std::string> ask_copy(WorkerProcess& copy, const std::string& request) {
  copy.send(request);
  return copy.receive(kCopyAnswersWithinS, [] { return false; });
}

int g_copied_number = 0;

// Answers with the number that this process had, or ends as requested.
void answer_requests(Channel& channel) {
  for (;;) {
    const std::string request = channel.receive();
    if (request == "return") return;
    if (request == "throw") throw std::runtime_error("thrown");
    if (request == "abort") {
      std::signal(SIGABRT, SIG_DFL);  // removes the test program's handler
      std::raise(SIGABRT);
    }
    if (request == "hang") ::pause();
    if (request == "template") {
      channel.send(std::to_string(::getppid()));
      continue;
    }
    channel.send(request + " " + std::to_string(g_copied_number++));
  }
}

TEST_CASE("a copy has the memory of its process at the time of construction", "[copies]") {
  g_copied_number = 5;
  ProcessCopies copies(answer_requests);
  g_copied_number = 7;
  const auto copy = copies.start();
  CHECK(ask_copy(*copy, "a") == "a 5");
  CHECK(ask_copy(*copy, "b") == "b 6");
  CHECK(ask_copy(*copies.start(), "c") == "c 5");
  CHECK(g_copied_number == 7);
}

TEST_CASE("the end of a copy is reported, and other copies continue", "[copies]") {
  g_copied_number = 0;
  ProcessCopies copies(answer_requests);
  const auto other = copies.start();
  struct Case {
    const char* request;
    const char* how;
  };
  const std::vector<Case> cases{
      {"return", "exit code 0"}, {"throw", "exit code 1"}, {"abort", "signal 6 (Aborted)"}};
  for (const Case& c : cases) {
    INFO(c.request);
    const auto copy = copies.start();
    CHECK_THROWS_AS(ask_copy(*copy, c.request), ChannelClosed);
    const WorkerProcess::Ending ending = copy->end();
    CHECK(ending.how == c.how);
    CHECK_FALSE(ending.killed);
    CHECK(copy->end().how == "it had already ended");
  }
  const auto hanging = copies.start();
  hanging->send("hang");
  CHECK_FALSE(hanging->receive(kCopyAnswersWithinS, [] { return true; }));
  CHECK(hanging->end().killed);
  CHECK(ask_copy(*other, "still here") == "still here 0");
}

pid_t template_of(WorkerProcess& copy) {
  const auto line = ask_copy(copy, "template");
  REQUIRE(line);
  return std::stoi(*line);
}

bool has_ended(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || text.compare(end, 4, ") Z ") == 0;
}

TEST_CASE("a template that was killed is replaced", "[copies]") {
  g_copied_number = 3;
  ProcessCopies copies(answer_requests);
  g_copied_number = 4;
  std::set<pid_t> templates;
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    const auto copy = copies.start();
    const pid_t parent = template_of(*copy);
    CHECK(templates.insert(parent).second);
    REQUIRE(::kill(parent, SIGKILL) == 0);
    CHECK_THROWS_AS(ask_copy(*copy, "hang"), ChannelClosed);
    const auto next = copies.start();
    CHECK(ask_copy(*next, "x") == "x 3");
    const WorkerProcess::Ending ending = copy->end();
    CHECK(ending.how == "its parent was killed");
    CHECK(ending.killed);
    CHECK(ask_copy(*next, "y") == "y 4");
  }
}

TEST_CASE("templates and their standby end with the object", "[copies]") {
  std::optional<ProcessCopies> copies(std::in_place, answer_requests);
  auto copy = copies->start();
  const pid_t first = template_of(*copy);
  REQUIRE(::kill(first, SIGKILL) == 0);
  copy = copies->start();
  const pid_t second = template_of(*copy);
  copy.reset();
  copies.reset();
  const double end_s = steady_seconds() + kCopyAnswersWithinS;
  while (!has_ended(second) && steady_seconds() < end_s)
    ::usleep(1000);
  CHECK(has_ended(first));
  CHECK(has_ended(second));
}

TEST_CASE("several threads start copies", "[copies]") {
  g_copied_number = 1;
  ProcessCopies copies(answer_requests);
  constexpr int kStartingThreads = 4;
  std::vector<std::string> answers(kStartingThreads);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : answers) {
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i)
          text = ask_copy(*copies.start(), "x").value_or("no answer");
      });
    }
  }
  CHECK(answers == std::vector<std::string>(kStartingThreads, "x 1"));
}

TEST_CASE("a copy ends when its object is destroyed, and ignores the terminal's signals",
          "[copies]") {
  std::optional<ProcessCopies> copies(std::in_place, [](Channel& channel) {
    channel.send(std::to_string(::getpid()));
    answer_requests(channel);
  });
  auto copy = copies->start();
  const auto line = copy->receive(kCopyAnswersWithinS, [] { return false; });
  REQUIRE(line);
  const pid_t id = std::stoi(*line);
  CHECK(::kill(id, SIGINT) == 0);
  CHECK(ask_copy(*copy, "x"));
  copy.reset();
  CHECK(::kill(id, 0) == -1);
}

}  // namespace
}  // namespace gpuexp::test
