// Output without measurements: predictions, and runs on a simulated GPU.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("predictions are labelled as computed") {
  const Outcome outcome = gpuexp("predict tests/cli/data/small.json --gpu h200");
  CHECK_THAT(outcome.output, contains_text("computed for NVIDIA H200 SXM 141GB, not measured"));
  CHECK_THAT(gpuexp("predict tests/cli/data/small.json --gpu h200 --json").output,
             contains_text("\"measured\": false"));
}

TEST_CASE("predictions for several GPUs are one table") {
  const std::string command = "predict tests/cli/data/small.json --gpu h200,rtx_4090";
  const Outcome table = gpuexp(command);
  INFO(table.output);
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.output, contains_text("  h200: NVIDIA H200 SXM 141GB; "));
  CHECK_THAT(table.output, contains_text("  rtx_4090: NVIDIA GeForce RTX 4090 24GB; "));
  const auto json = nlohmann::json::parse(gpuexp(command + " --json").output);
  REQUIRE(json.size() == 2);
  CHECK(json[1]["gpu"] == "NVIDIA GeForce RTX 4090 24GB");
  const std::string csv = gpuexp(command + " --csv").output;
  CHECK(csv.starts_with("gpu,key,predicted_time_us,"));
  CHECK_THAT(csv, contains_text("\nh200,"));
  CHECK_THAT(csv, contains_text("\nrtx_4090,"));
  const Outcome limits = gpuexp(command + " --limits");
  CHECK_THAT(limits.output, contains_text("computed for NVIDIA H200 SXM 141GB, not measured"));
  CHECK_THAT(limits.output, contains_text("computed for NVIDIA GeForce RTX 4090 24GB, not "));
}

TEST_CASE("a prediction has a time from machine code, or the reason for none", "[machine_code]") {
  const std::string command = "predict tests/cli/data/small.json --gpu h200";
  const auto cells_of = [&](const std::string& option) {
    const auto json = nlohmann::json::parse(gpuexp(command + " --json" + option).output);
    REQUIRE(json[0]["cells"].size() == 8);
    return json[0]["cells"];
  };
  const auto from_code = cells_of("");
  if (from_code[0]["predicted_time_us"].is_null())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const auto limits = cells_of(" --limits");
  for (std::size_t i = 0; i < from_code.size(); ++i) {
    INFO(from_code[i].dump(2) << limits[i].dump(2));
    CHECK(from_code[i]["why_no_predicted_time"] == "");
    CHECK(from_code[i]["predicted_time_us"] > from_code[i]["limit_time_us"]);
    CHECK(from_code[i]["bound_by"] != "");
    CHECK(from_code[i]["predicted_band_pct"] >= 10);
    CHECK((from_code[i]["predicted_band_pct"] == 10) == (from_code[i]["predicted_band_cause"] == ""));
    CHECK(limits[i]["predicted_band_pct"].is_null());
    CHECK(limits[i]["predicted_time_us"].is_null());
    CHECK(limits[i]["bound_by"] == "");
    CHECK(from_code[i]["limit_time_us"] == limits[i]["limit_time_us"]);
  }
  const Outcome refused = gpuexp("predict tests/cli/data/small.json --gpu t4");
  CHECK_THAT(refused.output, contains_text("8 cells have no predicted time: this binary holds no "
                                           "machine code of the kernel for compute capability "
                                           "7.5"));
  const std::string table = gpuexp(command).output;
  CHECK_THAT(table, !contains_text("no predicted time"));
  CHECK_THAT(table, contains_text("  predicted  ± %  bound by"));
  CHECK_THAT(table, contains_text("a band of ± 25 %: launches take at least a fifth of the "
                                  "predicted time"));
  CHECK_THAT(gpuexp("predict tests/cli/data/small.json --gpu rtx_4090").output,
             !contains_text("a band of"));
}

TEST_CASE("a simulated run verifies, measures nothing and says so everywhere", "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const WithoutGpu hidden;
  const fs::path dir = fs::temp_directory_path() / "gpuexp_cli_simulated";
  fs::remove_all(dir);
  const std::string small = "matmul --set m=32 --set n=32 --set k=32 --set modes=cold --counters ";
  const Outcome run = gpuexp("run " + small + "--simulate h200 --out " + dir.string());
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, contains_text("NVIDIA H200 SXM 141GB, simulated: no times"));
  // Standard output and standard error are interleaved by line.
  CHECK(run.output.ends_with("\nresults are in " + dir.string() + "\n"));
  CHECK_THAT(run.output, contains_text("calls a vendor library, whose kernels are not simulated"));
  const auto json = nlohmann::json::parse(read_file(dir / "results.json"));
  CHECK(json["provenance"]["device"]["executed_on"] == "simulated");
  CHECK(json["provenance"]["device"]["uuid"].is_null());
  for (const auto& row : json["rows"]) {
    INFO(row["key"]);
    CHECK(row["executed_on"] == "simulated");
    CHECK(row["status"] == (row["variant"] == "cublas" ? "skipped" : "passed"));
    if (row["status"] != "passed") continue;
    for (const char* measured :
         {"time_median_us", "samples", "sm_clock_mhz", "power_w", "tflops", "speedup"})
      CHECK(row.value(measured, nlohmann::json()).is_null());
    CHECK(row["error_over_allowed"].is_number());
    CHECK(row["predicted_time_us"].is_number());
    CHECK(row["predicted_from"] == "code");
    CHECK(row["predicted_band_pct"] >= 10);
    // A warp reads one element of A and 32 consecutive elements of B.
    if (row["variant"] == "coalesced") CHECK(row["counter.global_load_sectors_per_request"] == 2.5);
    CHECK(row["counter.warp_instructions"].is_number());
    // Two matrices of 32 × 32 floats.
    CHECK(row["counter.dram_read_bytes"] == 8192);
    CHECK(row["counter.l1_hit_pct"].is_number());
    CHECK(row["counter.stalled_barrier"].is_null());
    // Few wavefronts of shared memory are repeated where no lanes access one bank.
    CHECK(row["counter.shared_bank_conflicts"] < 20);
  }
  const Outcome report = gpuexp("report " + dir.string());
  CHECK(report.exit_code == 0);
  CHECK_THAT(report.output, contains_text("simulated: no times"));
  for (const std::string& other :
       {dir.string(), std::string("docs/results/h200/quickstart.json.zst")}) {
    const Outcome compared = gpuexp("compare " + dir.string() + " " + other);
    CHECK(compared.exit_code == 2);
    CHECK_THAT(compared.output, contains_text("simulated results have no times"));
  }
  const Outcome resumed = gpuexp("run --resume " + dir.string() + " --simulate h200");
  CHECK(resumed.exit_code == 0);
  const Outcome on_gpu = gpuexp("run --resume " + dir.string());
  CHECK(on_gpu.exit_code == 2);
  CHECK_THAT(on_gpu.output, contains_text("add --simulate 'NVIDIA H200 SXM 141GB'"));
  const Outcome other_gpu = gpuexp("run --resume " + dir.string() + " --simulate a100_sxm4_80gb");
  CHECK(other_gpu.exit_code == 2);
  CHECK_THAT(other_gpu.output, contains_text("the run simulated NVIDIA H200"));
  fs::remove_all(dir);
}

TEST_CASE("a simulated run of some blocks is marked as sampled in each row", "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const fs::path dir = fs::temp_directory_path() / "gpuexp_cli_sampled";
  fs::remove_all(dir);
  const auto run = [&](const std::string& blocks) {
    return gpuexp(
        "run tests/cli/data/small.json --set m=512 --set n=512 --set modes=cold --counters "
        "--simulate h200 --blocks " +
        blocks + " --out " + (dir / blocks).string());
  };
  const auto rows = [&](const std::string& blocks) {
    return nlohmann::json::parse(read_file(dir / blocks / "results.json"))["rows"];
  };
  const Outcome some = run("16");
  INFO(some.output);
  CHECK(some.exit_code == 0);
  CHECK_THAT(some.output, contains_text("2 sampled"));
  // Predicted times replace measured ones, under their own heading.
  CHECK_THAT(some.output, contains_text("predicted  band ± %  predicted speedup  bound by"));
  CHECK_THAT(some.output, !contains_text(" time "));
  CHECK(run("all").exit_code == 0);
  const auto sampled = rows("16");
  const auto whole = rows("all");
  REQUIRE(sampled.size() == whole.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    INFO(sampled[i]["key"]);
    CHECK(sampled[i]["status"] == "sampled");
    CHECK(sampled[i]["verified_pct"] > 0);
    CHECK(sampled[i]["verified_pct"] < 100);
    CHECK(whole[i]["status"] == "passed");
    CHECK(whole[i]["verified_pct"] == 100);
    CHECK(whole[i]["counts_error_pct"] == 0);
    for (const char* counter : {"warp_instructions", "global_load_sectors", "l1_tag_wavefronts"})
      CHECK(sampled[i][std::string("counter.") + counter] ==
            whole[i][std::string("counter.") + counter]);
  }
  for (const char* wrong : {"0", "1", "-3", "some", "4k"}) {
    const Outcome refused = run(wrong);
    INFO(wrong << ": " << refused.output);
    CHECK(refused.exit_code == 2);
  }
  const Outcome on_gpu = gpuexp("run tests/cli/data/small.json --blocks 4");
  CHECK(on_gpu.exit_code == 2);
  CHECK_THAT(on_gpu.output, contains_text("--simulate"));
  fs::remove_all(dir);
}

TEST_CASE("a simulated difference is explained by counts and labelled as predicted",
          "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const fs::path dir = fs::temp_directory_path() / "gpuexp_cli_strided";
  fs::remove_all(dir);
  CHECK(gpuexp("run tests/cli/data/strided.json --counters --simulate h200 --out " + dir.string())
            .exit_code == 0);
  const Outcome explained = gpuexp("explain " + dir.string());
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.output, contains_text("read_strided is predicted to take"));
  CHECK_THAT(explained.output, contains_text("32 sectors per load request instead of 4"));
  const std::string note = "nothing was measured";
  const std::size_t at = explained.output.find(note);
  REQUIRE(at != std::string::npos);
  CHECK_THAT(explained.output.substr(at + note.size()), !contains_text("measured"));
  CHECK_THAT(explained.output, !contains_text("confidence"));
  CHECK(gpuexp("explain " + dir.string() + " --variant read_stride").exit_code == 2);
  const auto json =
      nlohmann::json::parse(gpuexp("explain --json --variant read_strided " + dir.string()).output);
  CHECK(json["executed_on"] == "simulated");
  CHECK_FALSE(json.contains("explanations"));
  REQUIRE(json["predicted_comparisons"].size() == 1);
  const auto& comparison = json["predicted_comparisons"][0];
  CHECK(comparison["predicted_factor"] < 1);
  CHECK(comparison["predicted_time_us"] > comparison["compare_to_predicted_time_us"]);
  CHECK_FALSE(comparison.contains("time_us"));
  CHECK(comparison["changes"][0]["counter"] == "global_load_sectors_per_request");
  CHECK(comparison["changes"][0]["to"] == 32);
  fs::remove_all(dir);
}

TEST_CASE("cache counters are absent if the code cannot be timed", "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const fs::path dir = fs::temp_directory_path() / "gpuexp_cli_uncounted_caches";
  fs::remove_all(dir);
  const Outcome run = gpuexp(
      "run mixed_precision --filter '*fp16_*_scale' --set n=65536 --set centre_log2=-20 --counters "
      "--simulate h200 --out " +
      dir.string());
  INFO(run.output);
  CHECK(run.exit_code == 0);
  const auto json = nlohmann::json::parse(read_file(dir / "results.json"));
  std::size_t without = 0;
  for (const auto& row : json["rows"]) {
    INFO(row["key"]);
    if (row["status"] != "passed") continue;
    CHECK(row["counter.warp_instructions"].is_number());
    const bool is_timed = row["variant"] != "fp16_dynamic_scale";
    for (const char* counter :
         {"l1_hit_pct", "l2_sectors", "l2_hit_pct", "dram_read_bytes", "dram_write_bytes"})
      CHECK(row[std::string("counter.") + counter].is_number() == is_timed);
    CHECK((row["predicted_from"] == "code") == is_timed);
    without += !is_timed;
  }
  CHECK(without > 0);
  fs::remove_all(dir);
}

TEST_CASE("options that conflict with --simulate are refused") {
  const Outcome metric =
      gpuexp("run tests/cli/data/small.json --simulate h200 --counters=sm__cycles_active.max");
  CHECK(metric.exit_code == 2);
  CHECK_THAT(metric.output, contains_text("sm__cycles_active.max is not simulated"));
  const Outcome counter =
      gpuexp("run tests/cli/data/small.json --simulate h200 --counters=constant_requests");
  CHECK(counter.exit_code == 2);
  CHECK_THAT(counter.output, contains_text("constant_requests is not simulated"));
  const Outcome unknown = gpuexp("verify tests/cli/data/small.json --simulate h2000");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.output, contains_text("h200"));
  for (const char* option : {"--device 0", "--no-isolate", "--profile", "--no-gate"}) {
    const Outcome refused =
        gpuexp(std::string("run tests/cli/data/small.json --simulate h200 ") + option);
    INFO(option << ": " << refused.output);
    CHECK(refused.exit_code == 2);
  }
}

}  // namespace
// Counts and computed values exist without a GPU, times do not.
TEST_CASE("several configs with published figures form one run, which ends with their table",
          "[figures]") {
  const ScratchFolder scratch;
  const fs::path dir = scratch.path() / "run";
  const Outcome run = gpuexp(
      "run configs/figures/tile_quantization.json configs/figures/bank_conflicts.json "
      "--set modes=warm --simulate h200 --out " +
      dir.string());
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, contains_text("bank_conflicts.stride: bank_conflicts"));
  CHECK_THAT(run.output, contains_text("tiles at 257 columns"));
  CHECK_THAT(run.output, contains_text("published numbers: 2 reproduced, 4 not measured"));
  CHECK(fs::exists(dir / "results.json"));
  const auto json = nlohmann::json::parse(read_file(dir / "results.json"));
  CHECK(json["provenance"]["config"]["name"] == "figures");
  REQUIRE(json["figures"].size() == 2);
  const auto& tiles = json["figures"][0]["claims"][1];
  CHECK(tiles["rows"][0]["experiment"] == "tile_quantization.columns");
  CHECK(tiles["outcome"]["value"] == 6.0);
  CHECK(tiles["outcome"]["value_is"] == "computed");
  CHECK(tiles["outcome"]["verdict"] == "reproduced");
  const auto& conflicts = json["figures"][1]["claims"][0];
  CHECK(conflicts["outcome"]["verdict"] == "not measured");
  CHECK_THAT(conflicts["outcome"]["why"].get<std::string>(),
             contains_text("simulated rows have no times"));
  CHECK(conflicts["model_here"].is_number());
  // The table also appears in reports and in resumed runs.
  CHECK_THAT(gpuexp("report " + dir.string()).output,
             contains_text("published numbers: 2 reproduced, 4 not measured"));
  const Outcome resumed = gpuexp("run --resume " + dir.string() + " --simulate h200");
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.output, contains_text("published numbers: 2 reproduced, 4 not measured"));
}

TEST_CASE("published figures are predicted, and transferred from their GPU", "[figures]") {
  const Outcome predicted = gpuexp("predict figures/wave_quantization --gpu h200 --json");
  REQUIRE(predicted.exit_code == 0);
  const auto claims = nlohmann::json::parse(predicted.output)[0]["figures"][0]["claims"];
  // 120 tiles start a second wave on 108 SMs, but not on 132.
  CHECK(claims[3]["published"] == 2.0);
  CHECK(claims[3]["model_published"] == 2.0);
  CHECK(claims[3]["model_here"] == 1.0);
  CHECK(claims[3]["outcome"]["expected"] == 1.0);
  const Outcome table = gpuexp("predict configs/figures/wave_quantization.json --gpu h200");
  CHECK_THAT(table.output, contains_text("waves at 1793"));
  CHECK_THAT(table.output, !contains_text("verdict"));
  const Outcome limits =
      gpuexp("predict configs/figures/wave_quantization.json --gpu h200 --limits");
  CHECK_THAT(limits.output, !contains_text("waves at 1793"));
}

TEST_CASE("configs with different seeds, or the same name, cannot form one run") {
  const Outcome seeds = gpuexp("run matmul unseen --simulate h200");
  INFO(seeds.output);
  CHECK(seeds.exit_code == 2);
  CHECK_THAT(seeds.output, contains_text("$.seed: "));
  const Outcome names = gpuexp("run matmul matmul --simulate h200");
  CHECK(names.exit_code == 2);
  CHECK_THAT(names.output, contains_text("$.name: 'matmul' is the name of "));
}

}  // namespace gpuexp::test
