// Matrices from files: configs, runs and results.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

const std::string kBanner = "%%MatrixMarket matrix coordinate real general\n";

/// Matrix files, and a config of one variant that multiplies them.
class MatrixFolder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  std::string config(const std::vector<std::string>& matrices,
                     const std::vector<std::string>& variants = {"csr_thread_per_row"},
                     int rows = 1000) const {
    const nlohmann::json experiment{{"family", "spmv"},
                                    {"variants", variants},
                                    {"axes", {{"rows", rows}, {"matrix", matrices}}},
                                    {"modes", {"cold"}}};
    return write("files.json",
                 nlohmann::json{{"name", "files"}, {"experiments", {experiment}}}.dump());
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }
  /// Replaces the status of rows in the log of the run in `out`.
  void set_status(const std::string& from, const std::string& to) const {
    const std::string found = '"' + from + '"', set = '"' + to + '"';
    std::string log = read_file(folder_.path() / "out/log.jsonl");
    for (std::size_t at = log.find(found); at != std::string::npos; at = log.find(found, at))
      log.replace(at, found.size(), set);
    write("out/log.jsonl", log);
  }

 private:
  ScratchFolder folder_;
};

bool has_machine_code() {
  return knows_machine_code(gpuexp("describe spmv").output);
}

TEST_CASE("a malformed entry fails its cells, and the others run", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string bad = folder.write("bad.mtx", kBanner + "2 2 1\n1 3 1\n");
  const std::string config = folder.config({bad, "tests/cli/data/small.mtx", "banded"});
  const std::string json = folder.path("report.json");
  const Outcome outcome = gpuexp("verify " + config + " --simulate h200 --json " + json);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  const auto rows = nlohmann::json::parse(read_file(json))["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["status"] == "failed");
  CHECK_THAT(rows[0]["reason"].get<std::string>(), contains_text(bad + ":3: the column is '3'"));
  CHECK(rows[1]["status"] == "passed");
  CHECK(rows[2]["status"] == "passed");
}

TEST_CASE("annotate names the malformed entry", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string bad = folder.write("bad.mtx", kBanner + "2 2 1\n1 3 1\n");
  const Outcome outcome = gpuexp("annotate spmv/csr_thread_per_row --set matrix=" + bad);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text("gpuexp: " + bad + ":3: the column is '3'"));
}

TEST_CASE("sizes of a file's matrix are columns of the results", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string json = folder.path("report.json");
  const Outcome outcome = gpuexp("verify " + folder.config({"tests/cli/data/small.mtx", "banded"}) +
                                 " --simulate h200 --json " + json);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  const auto rows = nlohmann::json::parse(read_file(json))["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["metric.rows"] == 5);
  CHECK(rows[0]["metric.columns"] == 5);
  CHECK(rows[0]["metric.nonzeros"] == 9);  // three of six entries are on the diagonal
  CHECK(rows[0]["operations"] == 18);
  CHECK(rows[0]["param.rows"].is_null());
  CHECK(rows[0]["param.mean"].is_null());
  CHECK(rows[1]["metric.rows"] == 1000);
  CHECK(rows[1]["metric.nonzeros"] == 16000);
  CHECK(rows[1]["param.rows"] == 1000);
}

TEST_CASE("a run in which no cell passes gives the reason and does not exit with 0",
          "[machine_code]") {
  if (!has_machine_code()) return;
  const WithoutGpu hidden;
  const MatrixFolder folder;
  const std::string refused = folder.config({"tests/cli/data/small.mtx"}, {"ell"});
  const Outcome skipped = gpuexp("verify " + refused + " --simulate h200");
  INFO(skipped.output);
  CHECK(skipped.exit_code == 4);
  CHECK_THAT(skipped.output, contains_text("no row passed; 1 of 1: needs a generated matrix"));
  const Outcome library =
      gpuexp("verify " + folder.config({"banded"}, {"cusparse_alg1"}) + " --simulate h200");
  INFO(library.output);
  CHECK(library.exit_code == 5);
  CHECK_THAT(library.output, contains_text("no row passed; 1 of 1: "));
  const Outcome other_gpu =
      gpuexp("verify quickstart --simulate v100 --filter matmul/naive --set modes=warm");
  INFO(other_gpu.output);
  CHECK(other_gpu.exit_code == 5);
  CHECK_THAT(other_gpu.output,
             contains_text("no machine code of the kernel for compute capability 7.0"));
  CHECK(gpuexp("verify " + folder.config({"banded"}, {"ell", "cusparse_alg1"}) +
               " --simulate h200 --quiet")
            .exit_code == 0);
}

TEST_CASE("a shard without cells exits with 0", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const Outcome outcome = gpuexp("run " + folder.config({"banded"}) +
                                 " --shard 2/2 --simulate h200 --out " + folder.path("out"));
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a run is resumed only with unchanged input files", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string matrix = kBanner + "2 2 1\n1 1 1\n";
  const std::string file = folder.write("m.mtx", matrix);
  const std::string out = folder.path("out");
  const std::string in_folder = "true; cd '" + folder.path("") + "';";
  const std::string resume = "run --resume " + out + " --simulate h200 --quiet";
  folder.config({"m.mtx"});
  const Outcome first =
      gpuexp("run files.json --simulate h200 --out " + out + " --quiet", in_folder);
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const auto inputs =
      nlohmann::json::parse(read_file(folder.path("out/results.json")))["provenance"]["inputs"];
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0]["file"] == "m.mtx");
  CHECK(inputs[0]["path"] == file);
  CHECK(inputs[0]["bytes"] == matrix.size());
  CHECK(inputs[0]["sha256"].get<std::string>().size() == 64);
  CHECK(gpuexp(resume, in_folder).exit_code == 0);

  // Another folder may have a different file of this name.
  const ScratchFolder other;
  std::ofstream(other.path() / "m.mtx") << kBanner << "2 2 1\n1 1 3\n";
  for (const std::string& elsewhere :
       {std::string(), "true; cd '" + other.path().string() + "';"}) {
    folder.set_status("passed", "skipped");
    const Outcome outcome = gpuexp(resume, elsewhere);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    const auto results = nlohmann::json::parse(read_file(folder.path("out/results.json")));
    CHECK(results["rows"][0]["status"] == "passed");
    CHECK(results["provenance"]["inputs"] == inputs);
  }

  const auto check_refused = [&](const std::string& why) {
    for (const std::string& from : {in_folder, std::string()}) {
      const Outcome outcome = gpuexp(resume, from);
      INFO(outcome.output);
      CHECK(outcome.exit_code == 2);
      CHECK_THAT(outcome.output, contains_text("gpuexp: --resume " + out + ": " + file + why));
      CHECK_THAT(outcome.output, contains_text("; restore the file, or start a new run\n"));
    }
  };
  folder.write("m.mtx", kBanner + "2 2 1\n1 1 2\n");
  check_refused(" has changed since the run began: its SHA-256 begins with ");
  std::filesystem::remove(file);
  check_refused(": cannot be read: No such file or directory");
}

// The first row shows that planning has finished; the second matrix takes seconds.
TEST_CASE("a file replaced by one of the same size during a run fails its cells",
          "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string file = folder.write("m.mtx", kBanner + "2 2 1\n1 1 1\n");
  const std::string csv = folder.path("rows.csv"), json = folder.path("report.json");
  const std::string config =
      folder.config({"banded", "power_law", file}, {"csr_thread_per_row", "merge_path"}, 100003);
  auto run = std::async(std::launch::async, [&] {
    return gpuexp("verify " + config + " --simulate h200 --csv " + csv + " --json " + json);
  });
  const auto is_running = [&] {
    return run.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready;
  };
  while (read_file(csv).find("matrix=banded") == std::string::npos && is_running())
    ;
  folder.write("m.mtx", kBanner + "2 2 1\n1 1 2\n");
  const Outcome outcome = run.get();
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  const auto report = nlohmann::json::parse(read_file(json));
  int failed = 0;
  for (const auto& row : report["rows"]) {
    if (row["param.matrix"] != file) continue;
    ++failed;
    CHECK(row["status"] == "failed");
    CHECK_THAT(row["reason"].get<std::string>(),
               contains_text(file + " has changed since the run was planned: its SHA-256 begins"));
  }
  CHECK(failed == 2);
}

// Interrupts the run when its log exists. With exec, the program receives the signal.
TEST_CASE("an interrupted run prints the command that resumes it", "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string out = folder.path("out");
  const Outcome outcome =
      gpuexp("run " + folder.config({"power_law"}, {"*"}, 4000037) + " --simulate h200 --out " +
                 out + " 2>&1 & until [ -e " + out +
                 "/log.jsonl ] || ! kill -0 $!; do sleep 0.05; done; kill -TERM $!; wait $!",
             "exec");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 130);
  CHECK(outcome.output.ends_with("gpuexp: interrupted; results so far are in " + out +
                                 "/log.jsonl: show them with gpuexp report " + out +
                                 ", or continue with gpuexp run --resume " + out +
                                 " --simulate h200\n"));
}

TEST_CASE("a resumed run attempts a skipped cell again if the reason no longer holds",
          "[machine_code]") {
  if (!has_machine_code()) return;
  const MatrixFolder folder;
  const std::string out = folder.path("out");
  REQUIRE(gpuexp("run " + folder.config({"banded"}) + " --simulate h200 --quiet --out " + out)
              .exit_code == 0);
  folder.set_status("passed", "skipped");
  const Outcome resumed = gpuexp("run --resume " + out + " --simulate h200 --quiet");
  INFO(resumed.output);
  CHECK(resumed.exit_code == 0);
  const auto rows = nlohmann::json::parse(read_file(out + "/results.json"))["rows"];
  CHECK(rows[0]["status"] == "passed");
}

TEST_CASE("a file name may contain a comma, and end in upper or lower case") {
  const MatrixFolder folder;
  const std::string file = folder.write("a,b.MTX", kBanner + "1 1 1\n1 1 1\n");
  const Outcome outcome =
      gpuexp("plan " + folder.config({"banded"}) + " --set 'matrix=\"" + file + "\",regular'");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("matrix=" + file + "/cold"));
  CHECK_THAT(outcome.output, contains_text("matrix=regular/cold"));
  const Outcome open = gpuexp("plan spmv --set 'matrix=\"a,b.mtx'");
  CHECK(open.exit_code == 2);
}

TEST_CASE("an error in a file given on the command line does not name the config") {
  const MatrixFolder folder;
  const std::string empty = folder.write("empty.mtx", "");
  const std::string set = "--set matrix=" + empty;
  const Outcome outcome = gpuexp("plan " + folder.config({"banded"}) + " " + set);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("files.json") == std::string::npos);
  CHECK_THAT(outcome.output, contains_text("gpuexp: " + set + ": spmv.matrix[0]: " + empty +
                                           ": the file is empty; expected a first line such as"));
  const std::string config = folder.config({empty});
  CHECK_THAT(gpuexp("plan " + config).output,
             contains_text("gpuexp: " + config + ": spmv.matrix[0]: " + empty + ": "));
}

TEST_CASE("the message shown in docs/configs.md matches the program's") {
  const Outcome outcome = gpuexp("plan spmv --gpu h200 --set matrix=tests/cli/data/array.mtx");
  CHECK(outcome.exit_code == 2);
  const std::string page =
      read_file(std::filesystem::path(GPUEXP_SOURCE_DIR) / "docs" / "configs.md");
  CHECK_THAT(page, contains_text("```\n" + outcome.output + "```\n"));
}

TEST_CASE("a config is read from standard input") {
  const MatrixFolder folder;
  const std::string config = folder.config({"banded"});
  const Outcome outcome = gpuexp("plan - < " + config);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("plan of files for"));
  const Outcome empty = gpuexp("plan - < /dev/null");
  CHECK(empty.exit_code == 2);
  CHECK_THAT(empty.output, contains_text("standard input: is empty; expected a JSON object"));
}

}  // namespace
}  // namespace gpuexp::test
