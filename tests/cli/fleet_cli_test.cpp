// Sharded runs, merges, and comparisons of GPUs across a fleet.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an invalid shard, merge or fleet is refused with the reason", "[fleet]") {
  const std::pair<const char*, const char*> cases[] = {
      {"error_shard_beyond", "plan tests/cli/data/small.json --shard 5/4"},
      {"error_shard_zero", "run tests/cli/data/small.json --simulate h200 --shard 0/4"},
      {"error_shard_text", "plan tests/cli/data/small.json --shard a/b"},
      {"error_shard_none", "plan tests/cli/data/small.json --shard 1/0"},
      {"error_merge_one", "merge tests/cli/data"},
      {"error_merge_file", "merge tests/cli/data/small.json tests/cli/golden"},
      {"error_merge_no_log", "merge tests/cli/data tests/cli/golden"},
      {"error_across", "compare --across host tests/cli/data/fleet_a.json"},
      {"error_across_one", "compare --across uuid tests/cli/data/fleet_a.json"},
      {"error_across_same",
       "compare --across uuid tests/cli/data/fleet_a.json tests/cli/data/compare_a.json "
       "tests/cli/data/fleet_a.json"},
      {"error_across_gate",
       "compare --across uuid tests/cli/data/fleet_a.json tests/cli/data/fleet_b.json --fail-on "
       "missing"},
      {"error_across_format",
       "compare --across uuid tests/cli/data/fleet_a.json tests/cli/data/fleet_b.json --format "
       "junit"},
  };
  for (const auto& [name, arguments] : cases)
    check_golden(name, arguments, 2);
}

TEST_CASE("a shard is planned as it will run", "[fleet]") {
  check_golden("plan_shard", "plan tests/cli/data/small.json --gpu h200 --shard 2/3", 0);
  const auto cells = [](const std::string& shard) {
    const auto json = nlohmann::json::parse(
        gpuexp("plan tests/cli/data/small.json --gpu h200 --json" + shard).output);
    return json[0]["cells"].size();
  };
  CHECK(cells("") == 8);
  CHECK(cells(" --shard 1/3") + cells(" --shard 2/3") + cells(" --shard 3/3") == 8);
  CHECK(cells(" --shard 9/9") == 0);
}

TEST_CASE("a slow GPU is detected in a fleet, and an even fleet has none", "[fleet]") {
  const std::string even = "tests/cli/data/fleet_a.json tests/cli/data/fleet_c.json ";
  check_golden("compare_across", "compare --across uuid tests/cli/data/fleet_b.json " + even, 0);
  check_golden(
      "compare_across_gate",
      "compare --across uuid tests/cli/data/fleet_b.json " + even + "--fail-on slower --csv -", 6);
  check_golden("compare_across_even", "compare --across uuid " + even + "--fail-on slower,broken",
               0);
  const auto json = nlohmann::json::parse(
      gpuexp("compare --across uuid tests/cli/data/fleet_b.json " + even + "--json -").output);
  CHECK(json["gpus"][0]["gpu_uuid"] == "GPU-0b");
  CHECK(json["gpus"][0]["stands_out"] == true);
}

class SimulatedShards {
 public:
  Outcome run(const std::string& options, const std::string& folder) const {
    return gpuexp("run tests/cli/data/small.json --set m=8,16,32 --simulate h200 --quiet " +
                  options + " --out " + path(folder));
  }
  Outcome merge(const std::vector<std::string>& folders, const std::string& options = "") const {
    std::string arguments = "merge";
    for (const std::string& folder : folders)
      arguments += " " + path(folder);
    return gpuexp(arguments + " " + options);
  }
  std::string path(const std::string& folder) const { return (scratch_.path() / folder).string(); }
  nlohmann::json results(const std::string& folder) const {
    return nlohmann::json::parse(read_file(path(folder) + "/results.json"));
  }

 private:
  ScratchFolder scratch_;
  WithoutGpu hidden_;
};

TEST_CASE("merged shards equal the run that was divided", "[fleet][machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const SimulatedShards shards;
  CHECK(shards.run("", "whole").exit_code == 0);
  for (const char* index : {"1", "2", "3"})
    CHECK(shards.run(std::string("--shard ") + index + "/3", index).exit_code == 0);
  CHECK(shards.results("2")["provenance"]["shard"] == "2/3");
  CHECK_FALSE(shards.results("whole")["provenance"].contains("shard"));
  const Outcome merged = shards.merge({"3", "1", "2"}, "--out " + shards.path("merged"));
  INFO(merged.output);
  CHECK(merged.exit_code == 0);
  CHECK_THAT(merged.output, contains_text("12 rows of 3 parts, from 1 host, simulated"));
  auto rows = shards.results("merged")["rows"];
  for (auto& row : rows) {
    CHECK(row["host"].is_string());
    CHECK(row["gpu_uuid"].is_null());
    row.erase("host");
    row.erase("gpu_uuid");
  }
  CHECK(rows == shards.results("whole")["rows"]);
  // A merged run can be read like any other, as a file and as a folder.
  for (const char* name : {"merged", "merged/results.json"}) {
    const Outcome report = gpuexp("report " + shards.path(name));
    CHECK(report.exit_code == 0);
    CHECK_THAT(report.output, contains_text("merged from 3 parts") && contains_text("12 passed"));
    CHECK(gpuexp("explain " + shards.path(name)).exit_code == 0);
  }
  CHECK_THAT(gpuexp("report --format html " + shards.path("merged")).output,
             contains_text("Merged runs"));
  CHECK_THAT(gpuexp("report " + shards.path("2")).output, contains_text("shard 2/3"));
  const Outcome again = shards.merge({"1", "2", "3"}, "--out " + shards.path("merged"));
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.output, contains_text("results.json exists; name another folder"));
  const Outcome mixed = shards.merge({"1", "whole"});
  CHECK(mixed.exit_code == 2);
  CHECK_THAT(mixed.output, contains_text("the first is shard 1/3, the second a whole run"));
  const Outcome twice = shards.merge({"1", "2", "1"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.output, contains_text("this folder is given twice"));
  CHECK(shards.run("--seed 3 --shard 3/3", "seed").exit_code == 0);
  const Outcome seeds = shards.merge({"1", "2", "seed"});
  CHECK(seeds.exit_code == 2);
  CHECK_THAT(seeds.output, contains_text("are not parts of one run") && contains_text("--seed 3"));
  const Outcome across = gpuexp("compare --across uuid " + shards.path("merged"));
  CHECK(across.exit_code == 2);
  CHECK_THAT(across.output, contains_text("simulated results have no times"));
}

TEST_CASE("a partial merge names what is missing", "[fleet][machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const SimulatedShards shards;
  for (const char* index : {"1", "2"})
    CHECK(shards.run(std::string("--shard ") + index + "/3", index).exit_code == 0);
  const Outcome refused = shards.merge({"1", "2"}, "--out " + shards.path("merged"));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output,
             contains_text("shard 3 of 3 is missing (4 cells: matmul/matmul/naive/"));
  CHECK_FALSE(fs::exists(shards.path("merged")));
  const Outcome partial = shards.merge({"1", "2"}, "--partial --out " + shards.path("merged"));
  CHECK(partial.exit_code == 4);
  CHECK_THAT(partial.output, contains_text("shard 3 of 3 is missing") && contains_text("8 rows"));
  CHECK(shards.results("merged")["complete"] == false);
  // Shards without cells are not reported as missing.
  CHECK(shards.run("--shard 1/90", "alone").exit_code == 0);
  const Outcome empty = shards.run("--shard 77/90", "empty");
  INFO(empty.output);
  CHECK(empty.exit_code == 0);
  const Outcome few = shards.merge({"alone", "empty"}, "--partial --out " + shards.path("few"));
  CHECK(few.exit_code == 4);
  CHECK_THAT(few.output, contains_text("shard 6 of 90 is missing") &&
                             !contains_text("shard 7 of 90") && !contains_text("shard 77"));
}

TEST_CASE("an interrupted shard is resumed, but only as the same shard", "[fleet][machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const SimulatedShards shards;
  for (const char* index : {"1", "2"})
    CHECK(shards.run(std::string("--shard ") + index + "/2", index).exit_code == 0);
  const fs::path log = shards.path("1") + "/log.jsonl";
  const std::string text = read_file(log);
  // After the first row, in the middle of a line.
  const std::size_t row = text.find("{\"row\"");
  REQUIRE(row != std::string::npos);
  std::ofstream(log) << text.substr(0, text.find('\n', row) + 20);
  fs::remove(shards.path("1") + "/results.json");
  const Outcome early = shards.merge({"1", "2"});
  CHECK(early.exit_code == 2);
  CHECK_THAT(early.output, contains_text("shard 1/2 has not finished in ") &&
                               contains_text("without a result: 5 cells: "));
  const auto resume = [&](const std::string& options) {
    return gpuexp("run --resume " + shards.path("1") + " --simulate h200 --quiet " + options);
  };
  const Outcome other = resume("--shard 2/2");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, contains_text("it is the log of shard 1/2, not of shard 2/2"));
  CHECK(resume("--shard 1/2").exit_code == 0);
  CHECK(resume("").exit_code == 0);
  const Outcome merged = shards.merge({"1", "2"}, "--out " + shards.path("merged"));
  INFO(merged.output);
  CHECK(merged.exit_code == 0);
  CHECK(shards.results("merged")["rows"].size() == 12);
  CHECK(shards.run("", "whole").exit_code == 0);
  const Outcome whole =
      gpuexp("run --resume " + shards.path("whole") + " --simulate h200 --shard 1/2");
  CHECK(whole.exit_code == 2);
  CHECK_THAT(whole.output, contains_text("it is the log of a whole run, not of shard 1/2"));
}

/// Changes the log of a simulated run to look measured on a GPU, at `factor` times 10 us per cell.
void pretend_measured(const fs::path& log, const std::string& uuid, double factor) {
  std::istringstream lines(read_file(log));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::ordered_json::parse(line);  // the first member is the kind of line
    if (json.contains("gpuexp_log")) {
      auto& provenance = json["report"]["provenance"];
      provenance["host"] = "node-" + uuid;
      provenance["device"]["executed_on"] = "gpu";
      provenance["device"]["uuid"] = uuid;
    }
    if (json.contains("row")) {
      for (int round = 0; round < 10; ++round)
        text +=
            nlohmann::ordered_json{json["row"], round, factor * (10 + 0.001 * (round % 3))}.dump() +
            "\n";
    }
    text += json.dump() + "\n";
  }
  std::ofstream(log) << text;
}

TEST_CASE("whole runs of several GPUs are merged, and their GPUs compared",
          "[fleet][machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const SimulatedShards shards;
  CHECK(shards.run("", "a").exit_code == 0);
  for (const char* other : {"b", "c", "simulated"})
    fs::copy(shards.path("a"), shards.path(other));
  pretend_measured(shards.path("a") + "/log.jsonl", "GPU-a", 1);
  pretend_measured(shards.path("b") + "/log.jsonl", "GPU-b", 1.1);
  pretend_measured(shards.path("c") + "/log.jsonl", "GPU-c", 1.001);
  const Outcome mixed = shards.merge({"a", "b", "simulated"});
  CHECK(mixed.exit_code == 2);
  CHECK_THAT(mixed.output, contains_text("the first was measured, the second simulated"));
  const Outcome merged = shards.merge({"a", "b", "c"}, "--out " + shards.path("merged"));
  INFO(merged.output);
  CHECK(merged.exit_code == 0);
  CHECK_THAT(merged.output, contains_text("36 rows of 3 parts, from 3 hosts and 3 GPUs"));
  const Outcome across = gpuexp("compare --across uuid --fail-on slower " + shards.path("merged"));
  CHECK(across.exit_code == 6);
  CHECK_THAT(across.output, contains_text("GPU-b on node-GPU-b is slower: 1.099") &&
                                contains_text("3 GPUs, 12 cells on two or more of them"));
  const Outcome same =
      gpuexp("compare --across uuid --fail-on slower " + shards.path("a") + " " + shards.path("c"));
  INFO(same.output);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, contains_text("no GPU stands out"));
}

// Runs the first code block of the page, with the test's folder instead of results/.
TEST_CASE("the shards of docs/fleet.md run and merge as shown", "[fleet][machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const ScratchFolder scratch;
  const WithoutGpu hidden;
  const std::string page = read_file(fs::path(GPUEXP_SOURCE_DIR) / "docs" / "fleet.md");
  const std::size_t begin = page.find("```\n");
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(page.substr(begin + 4, page.find("```", begin + 4) - begin - 4));
  int commands = 0;
  bool merges = false;
  for (std::string line; std::getline(lines, line); ++commands) {
    const std::string program = "build/gpuexp ";
    REQUIRE(line.starts_with(program));
    std::string arguments = line.substr(program.size());
    for (std::size_t at = arguments.find("results/"); at != std::string::npos;
         at = arguments.find("results/", at)) {
      const std::string folder = scratch.path().string() + "/";
      arguments.replace(at, std::string("results/").size(), folder);
      at += folder.size();
    }
    const Outcome outcome = gpuexp(arguments);
    INFO(line << "\n" << outcome.output);
    CHECK(outcome.exit_code == 0);
    merges = merges || arguments.starts_with("merge ");
  }
  CHECK(commands == 5);
  CHECK(merges);
}

}  // namespace
}  // namespace gpuexp::test
