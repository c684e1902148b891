// Runs of kernel files that a signal ends, and processes of the simulator that are killed.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "base/steady_clock.hpp"
#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "cli/running_program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

constexpr double kStartsWithinS = 60;

/// The simulator executes the second and third launch for seconds.
const std::string kSlow = R"(// gpuexp: rounds = 1, 20000000, 20000001
// gpuexp: x[32] y[32]
// gpuexp: slow<<<1, 32>>>
// gpuexp: check y[i] = x[i]
__global__ void slow(const float* x, float* y, int rounds) {
  float value = x[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 0.5f + 1;
  y[threadIdx.x] = value > 100 ? value : x[threadIdx.x];
}
)";

template <class Condition>
void wait_for(const Condition& condition) {
  const double end_s = steady_seconds() + kStartsWithinS;
  while (!condition() && steady_seconds() < end_s)
    ::usleep(10000);
  REQUIRE(condition());
}

std::size_t lines_of(const std::string& file) {
  if (!fs::exists(file)) return 0;
  const std::string text = read_file(file);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("an interrupted run of a kernel file says how it continues", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("slow.cu", kSlow);
  for (const bool is_quiet : {false, true}) {
    const std::string out = folder.path(is_quiet ? "quiet run" : "loud run");
    const std::string csv = out + ".csv";
    const std::string word = "'" + out + "'";
    std::vector<std::string> arguments{"run",   file, "--simulate", "h200",
                                       "--out", out,  "--csv",      csv};
    if (is_quiet) arguments.push_back("--quiet");
    RunningProgram program(arguments);
    wait_for([&] { return lines_of(csv) >= 2; });  // the names of the columns, and a row
    program.signal(SIGINT);
    const std::string output = program.rest();
    INFO(output);
    CHECK(program.exit_code() == 130);
    CHECK_THAT(output, contains_text("gpuexp: interrupted; results so far are in " + out +
                                     "/log.jsonl: show them with gpuexp report " + word +
                                     ", or continue with gpuexp run --resume " + word +
                                     " --simulate h200 --csv '" + csv + "'\n"));
  }
}

TEST_CASE("a run that a second signal ends says how it continues", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string out = folder.path("out");
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  // The program waits when it opens a pipe that no process reads.
  RunningProgram program(
      {"run", folder.path("add.cu"), "--simulate", "h200", "--out", out, "--json", pipe});
  wait_for([&] {
    return fs::exists(out + "/results.json") &&
           read_file(out + "/log.jsonl").find("complete") != std::string::npos;
  });
  program.signal(SIGINT);
  constexpr unsigned kPatienceUs = 3100000;
  ::usleep(kPatienceUs);
  program.signal(SIGINT);
  const std::string output = program.rest();
  INFO(output);
  CHECK(program.exit_code() == -SIGINT);
  CHECK(output.ends_with(", or continue with gpuexp run --resume " + out +
                         " --simulate h200 --json " + pipe + "\n"));
}

TEST_CASE("a simulator that is killed is started again, and all cells pass", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  RunningProgram program({"verify", folder.write("slow.cu", kSlow), "--simulate", "h200", "--csv",
                          folder.path("rows.csv")});
  // The template that starts a process for the launches, and its standby.
  wait_for([&] { return lines_of(folder.path("rows.csv")) >= 2; });
  const std::vector<pid_t> children = children_of(program.id());
  REQUIRE(children.size() == 1);
  CHECK(children_of(children.front()).size() == 2);
  REQUIRE(::kill(children.front(), SIGKILL) == 0);
  const std::string output = program.rest();
  INFO(output);
  CHECK(program.exit_code() == 0);
  CHECK_THAT(output, contains_text("3 rows: 3 passed"));
  CHECK_THAT(output,
             contains_text("gpuexp: the process that simulated the GPU ended and was replaced "
                           "once: the worker process ended during launch of slow: its parent was "
                           "killed"));
  CHECK_THAT(output, !contains_text("device was lost"));
}

}  // namespace
}  // namespace gpuexp::test
