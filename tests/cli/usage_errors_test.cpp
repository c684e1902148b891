// Command lines and files that commands refuse, and what the messages say to do.
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/add_kernels.hpp"
#include "cli/error_folder.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// Checks that the command ends with exit code 2 and exactly this message.
void check_says(const std::string& arguments, const std::string& message) {
  const Outcome outcome = gpuexp(arguments);
  INFO(arguments);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output == "gpuexp: " + message + "\n");
}

}  // namespace

TEST_CASE("options that need a number above 0 say so") {
  for (const std::string option : {"--launch-timeout", "--rank-timeout"}) {
    const auto refused = [&](const std::string& value) {
      return gpuexp("verify quickstart " + option + " " + value).output;
    };
    CHECK(refused("0").starts_with("gpuexp: " + option + ": must be above 0, but is 0\n"));
    CHECK(refused("-2").starts_with("gpuexp: " + option + ": must be above 0, but is -2\n"));
    for (const std::string value : {"5s", "nan", "inf"})
      CHECK(refused(value).starts_with("gpuexp: " + option +
                                       ": must be a number above 0, but is '" + value + "'\n"));
  }
  for (const std::string value : {"0", "-1", "0.5", "many"})
    CHECK(gpuexp("tune my.cu --best " + value)
              .output.starts_with("gpuexp: --best: must be an integer of at least 1, but is " +
                                  value + "\n"));
  const Outcome accepted =
      gpuexp("verify tests/cli/data/small.json --simulate h200 --launch-timeout 1e2 --quiet");
  CHECK(accepted.exit_code == 0);
}

TEST_CASE("an unknown option is named with the nearest one of the subcommand") {
  check_says(
      "watch my.cu --simulate h200",
      "unknown option '--simulate' of watch; did you mean '--gpu'? gpuexp watch --help lists "
      "its options");
  for (const std::string command : {"verify my.cu", "run my.cu"})
    check_says(command + " --gpu=h200",
               "unknown option '--gpu' of " + command.substr(0, command.find(' ')) +
                   "; did you mean '--simulate'? gpuexp " + command.substr(0, command.find(' ')) +
                   " --help lists its options");
  check_says(
      "predict my.cu --gpu h200 --launch-timeot 3",
      "unknown option '--launch-timeot' of predict; gpuexp predict --help lists its options");
  // The value of an unknown option is not reported as a second file.
  check_says("watch --simulated h200 my.cu",
             "unknown option '--simulated' of watch; gpuexp watch --help lists its options");
}

TEST_CASE("commands that take one file say so") {
  check_says("watch a.cu b.cu",
             "watch: expected one kernel file, such as my.cu; found 2: a.cu, b.cu");
  check_says("tune a.cu b.cu c.cu --gpu h200",
             "tune: expected one kernel file, such as sgemm.cu; found 3: a.cu, b.cu, c.cu");
  check_says(
      "describe a.cu b.cu",
      "describe: unexpected argument 'b.cu'; expected one family (family id (gpuexp list), or "
      "a kernel file such as my.cu)");
  check_says("my.cu",
             "my.cu: expected a subcommand before the file, as in: gpuexp verify my.cu --simulate "
             "h200");
}

TEST_CASE("a missing argument is described") {
  const std::string config =
      ": expected config files, names of configs in configs/, or kernel files such as my.cu; - "
      "reads "
      "standard input";
  check_says("verify", "verify" + config);
  check_says("run --simulate h200", "run" + config);
  check_says("watch", "watch: expected one kernel file, such as my.cu");
  CHECK_THAT(gpuexp("predict quickstart").output, contains_text("gpuexp: --gpu is required\n"));
}

TEST_CASE("a file whose name begins with '-' is named with its folder or after --") {
  for (const std::string command : {"verify", "plan", "describe", "annotate"})
    check_says(command + " -dash.cu",
               "-dash.cu: a name that begins with '-' is read as an option; write ./-dash.cu, or "
               "'-- -dash.cu' after all options");
  const Outcome after = gpuexp("plan --gpu h200 -- -dash.cu");
  CHECK(after.exit_code == 2);
  CHECK_THAT(after.output, contains_text("-dash.cu: ") && !contains_text("read as an option"));
}

TEST_CASE("a file whose name begins with '-' is compiled", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("-dash.cu", kAdd);
  const std::string program = std::filesystem::absolute(GPUEXP_BINARY).string();
  const std::string configs = "GPUEXP_CONFIG_DIR=" GPUEXP_SOURCE_DIR "/configs";
  for (const std::string file : {"./-dash.cu", "-- -dash.cu"}) {
    const std::string command = "cd '" + folder.path("") + "' && " + configs + " '" + program +
                                "' verify --simulate h200 " + file + " >'" + folder.path("out") +
                                "' 2>&1";
    INFO(command);
    CHECK(std::system(command.c_str()) == 0);
    CHECK_THAT(read_file(folder.path("out")), contains_text("1 row: 1 passed"));
  }
}

TEST_CASE("a kernel file where results are expected names the run that writes them") {
  for (const std::string command : {"explain", "report"}) {
    check_says(command + " docs/examples/vector_add.cu",
               "docs/examples/vector_add.cu: is a kernel file; expected results: write them with "
               "'gpuexp run docs/examples/vector_add.cu --counters --out results/vector_add', and "
               "name results/vector_add instead");
    check_says(
        command + " docs/examples",
        "docs/examples: is a folder without results; expected log.jsonl or results.json, which "
        "gpuexp run --out writes");
  }
}

TEST_CASE("a declaration of another file's kernels is named", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("other.cu", kAddKernel);
  folder.write("k.cu", kAddKernel);
  const std::string json = R"json({"source": "other.cu", "parameters": {"n": 1000},
    "buffers": {"x": "[n]", "y": "[n]", "z": "[n]"},
    "variants": {"add": "add<<<ceil_div(n, 256), 256>>>"}, "check": "z[i] = x[i] + y[i]"})json";
  folder.write("k.gpuexp.json", json);
  const Outcome refused = folder.outcome("k.cu", "");
  CHECK(refused.exit_code == 2);
  CHECK(
      refused.output ==
      "gpuexp: k.cu: has no declaration, and k.gpuexp.json declares the kernels of other.cu: "
      "write \"source\": \"k.cu\" there, or name k.gpuexp.json instead of k.cu for the kernels of "
      "other.cu\n");
  CHECK(folder.outcome("k.gpuexp.json", "").exit_code == 0);
  // The file's own declaration counts.
  folder.write("k.cu", kAdd);
  CHECK(folder.outcome("k.cu", "").exit_code == 0);
}

TEST_CASE("--set takes powers as a declaration does, and refuses ranges", "[machine_code]") {
  if (!has_compiler()) return;
  const std::string plan = "plan docs/examples/vector_add.cu --gpu h200 --set n=";
  CHECK_THAT(gpuexp(plan + "2^14,3").output,
             contains_text("n=16384/cold") && contains_text("n=3/cold"));
  check_says(plan + "2^10..2^20",
             "--set n=2^10..2^20: found the range '2^10..2^20'; expected its values, separated by "
             "commas");
  check_says(plan + "2*64",
             "--set n=2*64: expected a number such as 1024, 2^10 or 0.5, found '2*64'");
}

}  // namespace gpuexp::test
