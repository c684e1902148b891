// One process per rank, without a GPU: agents and their workers are processes of this program. A
// lost worker fails its cell, a lost agent ends the run, and no process remains.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/config_error.hpp"
#include "base/steady_clock.hpp"
#include "fake_job.hpp"
#include "span_run.hpp"
#include "support/catch.hpp"
#include "worker/rendezvous.hpp"

namespace gpuexp::test {
namespace {

/// SpanRun on four ranks with agents.
struct AgentRun : SpanRun {
  FakeJob job;
  std::unique_ptr<JobRanks> others;

  explicit AgentRun(const std::string& fault) : SpanRun(4), job(fault, 4), others(job.connect()) {
    machine.start = [this](int rank, const Environment&) { return job.worker(*others, rank); };
  }

  /// How agents end after rank 0 has left.
  std::vector<std::string> endings() {
    others.reset();
    std::vector<std::string> endings;
    for (int rank = 1; rank < 4; ++rank)
      endings.push_back(job.agent(rank).end().how);
    return endings;
  }
};

/// Kills or stops an agent during a group.
struct Killer : RunObserver {
  pid_t victim;
  std::string variant;
  int signal;
  Killer(pid_t id, std::string in, int by = SIGKILL)
      : victim(id), variant(std::move(in)), signal(by) {}
  void sample_taken(const Cell& cell, int round, const Sample&) override {
    if (cell.variant->id != variant || round != 3) return;
    ::kill(victim, signal);
    siginfo_t changed{};
    ::waitid(P_PID, static_cast<id_t>(victim), &changed, WEXITED | WSTOPPED | WNOWAIT);
  }
};

/// Processes of the job that still run after some time to end.
std::vector<int> remaining_processes(const FakeJob& job) {
  constexpr double kPatienceS = 2;
  const double end_s = steady_seconds() + kPatienceS;
  std::vector<int> found = processes_with(job.options.place.id);
  while (!found.empty() && steady_seconds() < end_s) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = processes_with(job.options.place.id);
  }
  return found;
}

const std::vector<std::string> kDismissed(3, "exit code 0");

TEST_CASE("ranks with agents run a problem like child processes") {
  AgentRun b("none");
  const auto rows = b.run();
  REQUIRE(rows.size() == 4);
  for (int i = 0; i < 3; ++i) {
    INFO(rows[i].reason);
    CHECK(rows[i].status == Status::passed);
    CHECK(rows[i].samples_us == std::vector<double>(20, 13.0));
    CHECK(rows[i].skews_us == std::vector<double>(20, 6.0));
    CHECK(rows[i].verification->elements == 8 * 4);
  }
  CHECK(rows[3].samples_us == std::vector<double>(20, 10.0));
  CHECK(b.endings() == kDismissed);
  CHECK(remaining_processes(b.job).empty());
}

TEST_CASE("a lost worker of an agent fails its cell, and the next cell gets a new worker") {
  struct Case {
    const char* fault;
    Status status;
    const char* reason;
  };
  const auto c =
      GENERATE(Case{"kill_launch", Status::failed,
                    "rank 1: the worker process ended during launch of second: signal 9"},
               Case{"hang_launch", Status::failed, "rank 0: rank 1 has sent nothing for 1 s"});
  AgentRun b(c.fault);
  const auto rows = b.run();
  REQUIRE(rows.size() == 4);
  for (int i = 0; i < 4; ++i) {
    INFO(c.fault << ": " << rows[i].reason);
    CHECK(rows[i].status == (i == 1 ? c.status : Status::passed));
    if (i == 1) CHECK_THAT(rows[i].reason, contains_text(c.reason));
  }
  CHECK(b.endings() == kDismissed);
  CHECK(remaining_processes(b.job).empty());
}

TEST_CASE("an agent that is killed ends the run, and the error names its rank") {
  AgentRun b("none");
  Killer killer(b.job.agent(2).id(), "second");
  b.observer = &killer;
  std::string what;
  try {
    b.run();
  } catch (const JobLost& lost) {
    what = lost.what();
  }
  CHECK_THAT(what, contains_text("rank 2 is lost: the connection to its agent"));
  auto endings = b.endings();
  CHECK_THAT(endings[1], contains_text("signal 9"));
  CHECK(endings[0] == "exit code 0");
  CHECK(endings[2] == "exit code 0");
  CHECK(remaining_processes(b.job).empty());
}

TEST_CASE("an agent that stops answering ends the run") {
  AgentRun b("none");
  b.machine.launch_timeout_s = 0.1;
  Killer stopper(b.job.agent(1).id(), "second", SIGSTOP);
  b.observer = &stopper;
  std::string what;
  try {
    b.run();
  } catch (const JobLost& lost) {
    what = lost.what();
  }
  CHECK_THAT(what, contains_text("rank 1 is lost: the connection to its agent: no answer"));
}

TEST_CASE("an agent that is killed while idle ends the run") {
  AgentRun b("none");
  b.config.experiments.erase(b.config.experiments.begin());  // on one GPU only
  Killer killer(b.job.agent(3).id(), "first");
  b.observer = &killer;
  b.options.interrupted = [&] { return b.others->check(), false; };
  b.config.experiments.push_back(b.config.experiments.front());
  b.config.experiments.back().name = "next";
  CHECK_THROWS_AS(b.run(), JobLost);
}

TEST_CASE("agents end when rank 0 has gone, in any state of their workers") {
  AgentRun b("hang_launch");
  // An agent whose worker is ready ignores these signals and leaves them to rank 0.
  std::vector<decltype(b.job.worker(*b.others, 1))> workers;
  for (const int rank : {1, 2, 3}) {
    workers.push_back(b.job.worker(*b.others, rank));
    REQUIRE(workers.back()->receive(5, [] { return false; }) == "ready");
  }
  for (const int rank : {1, 2, 3}) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      ::kill(b.job.agent(rank).id(), signal);
  }
  // The signals end none of them.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(processes_with(b.job.options.place.id).size() == 6);
  workers.clear();
  CHECK(b.endings() == kDismissed);
  CHECK(remaining_processes(b.job).empty());
}

TEST_CASE("a rank that does not connect in time is reported by its number") {
  FakeJob job("none", 4, 3);
  job.options.patience_s = 1;
  const double start_s = steady_seconds();
  std::string what;
  try {
    job.connect();
  } catch (const JobLost& lost) {
    what = lost.what();
  }
  CHECK(what ==
        "rank 3 of 4 did not connect within 1 s; --rank-timeout allows more time, and --ranks here "
        "waits for no other process");
  CHECK(steady_seconds() - start_s < 3);
  CHECK(remaining_processes(job).empty());
  CHECK(job.agent(1).end().how == "exit code 0");
}

TEST_CASE("a second process with the same rank is rejected") {
  FakeJob job("none", 3, 2);
  ChildProcess twin({"agent", "1", "3", job.options.place.id, job.options.folder.string()});
  job.options.patience_s = 1;
  CHECK_THROWS_AS(job.connect(), JobLost);
  std::vector<std::string> endings{job.agent(1).end().how, twin.end().how};
  std::sort(endings.begin(), endings.end());
  CHECK(endings == std::vector<std::string>{"exit code 0", "exit code 7"});
}

TEST_CASE("a rank with a different command line is reported by its number") {
  FakeJob job("none", 2);
  job.options.arguments = {"run", "toy", "--out", "elsewhere"};
  std::string what;
  try {
    job.connect();
  } catch (const ConfigError& error) {
    what = error.what();
  }
  CHECK_THAT(what,
             contains_text("rank 1 was started with different arguments than rank 0: run toy"));
  CHECK_THAT(what, contains_text("--ranks here"));
  CHECK(job.agent(1).end().how == "exit code 0");
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 0777;
}

/// A job with only these two ranks, as each of them sees it.
struct TwoRanks {
  ScratchFolder scratch;
  JobOptions first;
  JobOptions second;
  TwoRanks() {
    first.place = {0, 2, 0, "meeting"};
    first.folder = scratch.path() / "jobs";
    first.secret = "";
    second = first;
    second.place.rank = 1;
  }
  std::filesystem::path file() const { return first.folder / "job-meeting"; }
  std::string port() const {
    std::ifstream in(file());
    std::string host;
    std::string port;
    in >> host >> port;
    CHECK(host == "127.0.0.1");
    return port;
  }
};

TEST_CASE("only the user can read the invitation, and it is removed when rank 0 stops listening") {
  TwoRanks m;
  std::string why;
  CHECK_FALSE(connect_to_first(m.second, why));
  CHECK_THAT(why, contains_text("job-meeting"));
  {
    Rendezvous rendezvous(m.first);
    CHECK(mode_of(m.file()) == 0600);
    CHECK(mode_of(m.first.folder) == 0700);
    auto joined = connect_to_first(m.second, why);
    REQUIRE(joined);
    auto accepted = rendezvous.accept(5);
    REQUIRE(accepted);
    joined->send("hello");
    CHECK(accepted->receive() == "hello");
  }
  CHECK_FALSE(std::filesystem::exists(m.file()));
  std::filesystem::permissions(m.first.folder, std::filesystem::perms(0750));
  CHECK_THROWS_AS(Rendezvous(m.first), ConfigError);
  CHECK_THROWS_AS(connect_to_first(m.second, why), ConfigError);
}

TEST_CASE("a connection with a wrong or missing secret is rejected without delaying others") {
  TwoRanks m;
  Rendezvous rendezvous(m.first);
  JobOptions stranger = m.second;
  stranger.listen = "127.0.0.1:" + m.port();
  stranger.secret = std::string(32, '0');
  std::string why;
  auto refused = connect_to_first(stranger, why);
  REQUIRE(refused);
  CHECK_FALSE(rendezvous.accept(0.3));
  CHECK(rendezvous.turned_away() == 1);
  CHECK_THROWS_AS(refused->receive(), ChannelClosed);

  // Long lines are cut off at the secret's length, and silent connections do not block others.
  auto long_line = connect_to_first(stranger, why);
  long_line->send(std::string(1 << 16, 'x'));
  const auto right = connect_to_first(m.second, why);
  const double start_s = steady_seconds();
  CHECK(rendezvous.accept(5));
  CHECK(steady_seconds() - start_s < 1);
  CHECK_FALSE(rendezvous.accept(0.3));
  CHECK(rendezvous.turned_away() == 2);
}

TEST_CASE("a secret from the environment needs a port but no file") {
  TwoRanks m;
  m.first.secret = "00112233445566778899aabbccddeeff";
  CHECK_THROWS_AS(Rendezvous(m.first), ConfigError);
  m.first.secret = "short";
  m.first.listen = "127.0.0.1:1";
  CHECK_THROWS_AS(Rendezvous(m.first), ConfigError);
  m.first.secret = "";
  for (const char* nowhere : {"0.0.0.0", "203.0.113.1", "no.such.host.invalid"}) {
    INFO(nowhere);
    m.first.listen = nowhere;
    CHECK_THROWS_AS(Rendezvous(m.first), ConfigError);
  }
  // Use a port that was free a moment ago.
  std::string port;
  {
    m.first.listen = "127.0.0.1";
    const Rendezvous rendezvous(m.first);
    port = m.port();
  }
  m.first.secret = m.second.secret = "00112233445566778899aabbccddeeff";
  m.first.listen = m.second.listen = "127.0.0.1:" + port;
  Rendezvous rendezvous(m.first);
  CHECK_FALSE(std::filesystem::exists(m.file()));
  std::string why;
  const auto joined = connect_to_first(m.second, why);
  INFO(why);
  REQUIRE(joined);
  CHECK(rendezvous.accept(5));
}

}  // namespace
}  // namespace gpuexp::test
