#include "cli/launched_run.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "cli/number_checks.hpp"
#include "worker/agent.hpp"
#include "worker/job.hpp"

namespace gpuexp::cli {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::optional<JobPlace> place_in_job(const LaunchOptions& options, bool is_own) {
  if (options.ranks == "here" || (options.ranks == "auto" && is_own)) return std::nullopt;
  auto place = launched_place([](const char* name) { return std::getenv(name); });
  if (!place && options.ranks == "launcher") {
    throw ConfigError(
        "--ranks launcher: the environment names no launch of several processes; start gpuexp with "
        "mpirun or srun, or set GPUEXP_RANK and GPUEXP_RANKS");
  }
  // The processes of a launcher on one host share a parent, unless a script starts each of them.
  if (place && place->id.empty()) place->id = fmt::format("parent-{}", ::getppid());
  return place;
}

/// Folder in which a host's ranks find the file with rank 0's address and secret. Folders that
/// exist only after a login are unsuitable, because a launcher's processes may lack them.
std::filesystem::path job_folder() {
  const std::string named = environment("GPUEXP_JOB_DIR");
  if (!named.empty()) return named;
  return std::filesystem::path("/tmp") / fmt::format("gpuexp-{}", ::geteuid());
}

JobOptions job_options(const Context& context, const LaunchOptions& options,
                       const JobPlace& place) {
  JobOptions job;
  job.place = place;
  const std::string listen = options.listen.empty() ? environment("GPUEXP_LISTEN") : options.listen;
  if (!listen.empty()) job.listen = listen;
  job.secret = environment("GPUEXP_JOB_SECRET");
  job.folder = job_folder();
  job.arguments = {context.argv.begin() + 1, context.argv.end()};
  job.patience_s = options.timeout_s;
  job.interrupted = interrupted;
  return job;
}

ExitCode serve(const JobOptions& job) {
  serve_as_agent(job, [](const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"worker"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return std::make_unique<ChildProcess>(words);
  });
  return ExitCode::ok;
}

ExitCode lead(const JobOptions& job, const std::function<ExitCode(JobRanks*)>& run) {
  catch_interrupts();
  JobRanks others(job);
  return run(&others);
}

}  // namespace

void LaunchOptions::add_to(Command& command) {
  command
      .add_option("--ranks", ranks,
                  "which processes run problems that span GPUs; launcher: mpirun or srun has "
                  "started one process per GPU, and the first one measures; here: this process "
                  "starts them; auto: launcher if it has started several processes and --shard is "
                  "not given, else here (default: auto)")
      ->check(CLI::IsMember({"auto", "launcher", "here"}));
  command
      .add_option("--listen", listen,
                  "address at which the first process of a launcher listens for the others "
                  "(default: GPUEXP_LISTEN, else 127.0.0.1 and any free port)")
      ->type_name("HOST[:PORT]");
  command
      .add_option("--rank-timeout", timeout_s,
                  "seconds that the processes of a launcher wait for each other (default: 60)")
      ->check(above_zero());
}

ExitCode run_as_launched(const Context& context, const LaunchOptions& options, bool is_own,
                         const std::function<ExitCode(JobRanks*)>& run) {
  const auto place = place_in_job(options, is_own);
  if (!place) return run(nullptr);
  const JobOptions job = job_options(context, options, *place);
  interrupt_at_parent_exit();
  try {
    return place->rank == 0 ? lead(job, run) : serve(job);
  } catch (const JobLost& error) {
    fmt::print(stderr, "gpuexp: {}\n", error.what());
    return interrupted() ? ExitCode::interrupted : ExitCode::rank_lost;
  }
}

}  // namespace gpuexp::cli
