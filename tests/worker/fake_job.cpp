#include "fake_job.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "base/names.hpp"
#include "run/rank_exchange.hpp"
#include "span_run.hpp"
#include "worker/agent.hpp"

namespace gpuexp::test {

namespace {

constexpr double kUntilMetS = 5;
constexpr int kRankLost = 7;

std::unique_ptr<ChildProcess> fake_worker(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"rank"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return std::make_unique<ChildProcess>(words);
}

/// Every command line contains the job's id, by which remaining processes are found.
std::vector<std::string> rank_arguments(int rank, const std::string& fault,
                                        const JobOptions& options) {
  return {std::to_string(rank), fault, options.place.id};
}

int serve(const JobOptions& options) {
  try {
    serve_as_agent(options, fake_worker);
    return 0;
  } catch (const JobLost& lost) {
    fmt::print(stderr, "{}\n", lost.what());
    return kRankLost;
  }
}

}  // namespace

std::vector<int> processes_with(const std::string& word) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id == 0 || id == ::getpid()) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find(word) != std::string::npos) found.push_back(id);
  }
  return found;
}

FakeJob::FakeJob(const std::string& fault, int ranks, int absent) : fault_(fault) {
  options.place = {0, ranks, 0, random_meeting()};
  options.folder = folder_.path() / "jobs";
  options.patience_s = kUntilMetS;
  options.arguments = {"run", "toy"};
  agents_.resize(static_cast<std::size_t>(ranks));
  for (int rank = 1; rank < ranks; ++rank) {
    if (rank == absent) continue;
    agents_[static_cast<std::size_t>(rank)] = std::make_unique<ChildProcess>(
        std::vector<std::string>{"agent", std::to_string(rank), std::to_string(ranks),
                                 options.place.id, options.folder.string()});
  }
}

std::unique_ptr<WorkerProcess> FakeJob::worker(JobRanks& others, int rank) const {
  const auto arguments = rank_arguments(rank, fault_, options);
  if (rank == 0) return fake_worker(arguments);
  return others.start(rank, arguments);
}

int work_as_agent(const std::vector<std::string>& words) {
  // Children of ChildProcess ignore these signals, but children of a launcher do not.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, SIG_DFL);
  JobOptions options;
  const int rank = std::atoi(words.at(0).c_str());
  options.place = {rank, std::atoi(words.at(1).c_str()), rank, words.at(2)};
  options.folder = words.at(3);
  options.patience_s = kUntilMetS;
  options.arguments = {"run", "toy"};
  return serve(options);
}

int work_in_job(const std::string& folder, const std::string& fault) {
  JobOptions options;
  options.place = launched_place([](const char* name) { return std::getenv(name); }).value();
  options.folder = folder;
  options.patience_s = 20;  // other processes may use this machine
  options.arguments = {fault};
  if (options.place.rank > 0) return serve(options);
  try {
    JobRanks others(options);
    SpanRun run(others.ranks(), fault == "slow" ? 1000 : 20);
    run.machine.start = [&](int rank, const Environment&) -> std::unique_ptr<WorkerProcess> {
      const auto arguments = rank_arguments(rank, fault, options);
      if (rank == 0) return fake_worker(arguments);
      return others.start(rank, arguments);
    };
    run.options.interrupted = run.machine.interrupted = [&] { return others.check(), false; };
    for (const Row& row : run.run())
      fmt::print("{}: {}\n", name_of(row.status), row.reason);
    return 0;
  } catch (const JobLost& lost) {
    fmt::print("lost: {}\n", lost.what());
    return kRankLost;
  }
}

}  // namespace gpuexp::test
