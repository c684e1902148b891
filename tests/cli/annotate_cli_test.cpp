// Output of annotate, and the examples of docs/annotate.md.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("source lines are annotated with the instructions that they execute", "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const std::string matmul = " --set m=256 --set n=256 --set k=256";
  const std::string tensor = "annotate matmul_tensor/mma_sync --set m=128 --set n=128 --set k=64";
  check_golden("annotate_strided", "annotate coalescing/read_strided --set n=4096 --set stride=8",
               0);
  check_golden("annotate_naive", "annotate matmul/naive" + matmul, 0);
  check_golden("annotate_coalesced", "annotate matmul/coalesced" + matmul, 0);
  check_golden("annotate_tensor", tensor, 0);
  check_golden("annotate_warp_global", "annotate matmul/naive" + matmul + " --warp 0,0 --line 47",
               0);
  check_golden("annotate_warp_shared",
               tensor + " --warp 0,0,0,1 --line kernels/common/warp_product.cuh:89", 0);
}

TEST_CASE("an unsupported annotation is refused, and the message lists what is allowed",
          "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const std::string small = "annotate matmul/naive --set m=64 --set n=64 --set k=64 ";
  const std::pair<const char*, std::string> cases[] = {
      {"error_annotate_no_variant", "annotate matmul"},
      {"error_annotate_family", "annotate matmull/naive"},
      {"error_annotate_variant", "annotate matmul/naiv"},
      {"error_annotate_vendor", "annotate matmul/cublas"},
      {"error_annotate_no_kernel", "annotate host_transfer/pinned_in"},
      {"error_annotate_large", "annotate loss_scaling/fp16_dynamic_scale --set n=500000000"},
      {"error_annotate_code", "annotate matmul/naive --gpu t4 --set m=64 --set n=64 --set k=64"},
      {"error_annotate_values", "annotate matmul/naive --set m=32,64"},
      {"error_annotate_set", "annotate matmul/naive --set stride=3"},
      {"error_annotate_line_alone", small + "--line 47"},
      {"error_annotate_warp_form", small + "--warp 0"},
      {"error_annotate_warp_number", small + "--warp 0,-1"},
      {"error_annotate_block", small + "--warp 4,0"},
      {"error_annotate_warp", small + "--warp 0,0,0,32"},
      {"error_annotate_lines", small + "--warp 0,0"},
      {"error_annotate_line", small + "--warp 0,0 --line 51"},
      {"error_annotate_execution", small + "--warp 0,0 --line 47 --execution 5"},
  };
  for (const auto& [name, arguments] : cases)
    check_golden(name, arguments, 2);
}

// Checks that lines and instructions of an annotation in JSON sum to the totals.
void check_annotation_sums(const nlohmann::json& json) {
  for (const auto& kernel : json["kernels"]) {
    for (const auto& [name, total] : kernel["counts"].items()) {
      INFO(name);
      if (name == "l1_hit_pct") continue;  // a ratio
      if (name == "gpu") {                 // not counted on a GPU
        CHECK(total.is_null());
        continue;
      }
      double of_lines = 0;
      double of_instructions = 0;
      for (const auto& line : kernel["lines"])
        of_lines += line["counts"][name].get<double>();
      for (const auto& instruction : kernel["instructions"])
        of_instructions += instruction["counts"][name].get<double>();
      CHECK(of_lines == Approx(total.get<double>()));
      CHECK(of_instructions == Approx(total.get<double>()));
    }
  }
}

TEST_CASE("an annotation as JSON has every line and instruction, which sum to the totals",
          "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const Outcome outcome =
      gpuexp("annotate matmul/naive --set m=64 --set n=64 --set k=64 --json --warp 1,3 --line 55");
  REQUIRE(outcome.exit_code == 0);
  const auto json = nlohmann::json::parse(outcome.output);
  check_annotation_sums(json);
  CHECK(json["executed_on"] == "simulated");
  CHECK(json["counted_on"].is_null());
  CHECK(json["why_not_counted"].is_null());
  CHECK(json["parameters"]["k"] == 64);
  CHECK(json["blocks"] == 4);
  CHECK(json["blocks_executed"] == 4);
  // For a, one of 256 requests for a sector is the first; for b and c, one of eight.
  CHECK(json["counts"]["l1_hit_pct"] > 90);
  CHECK(json["counts"]["l1_hit_pct"] < 100);
  const double floor_us = 2.5;
  CHECK(json["counts"]["predicted_us"] < json["prediction"]["time_us"].get<double>() - floor_us);
  CHECK(json["prediction"]["warp_states_us"]["long_scoreboard"] > 0);
  // A warp's load of A accesses 32 rows, its load of B one element, each k = 64 times.
  CHECK(json["counts"]["global_load_requests"] == 4 * 32 * 64 * 2);
  CHECK(json["counts"]["global_load_sectors"] == 4 * 32 * 64 * 33);
  CHECK(json["counts"]["global_store_requests"] == 4 * 32);
  CHECK(json["counts"]["global_store_sectors"] == 4 * 32 * 32);
  const auto& warp = json["warp"];
  CHECK(warp["block"] == nlohmann::json({1, 0, 0}));
  REQUIRE(warp["accesses"].size() == 1);
  CHECK(warp["accesses"][0]["buffer"] == "c");
  REQUIRE(warp["accesses"][0]["lanes"].size() == 32);
  // Lane 5 of warp 3 of block (1, 0): row 32 + 5, column 3 of 64.
  CHECK(warp["accesses"][0]["lanes"][5]["offset"] == 4 * (37 * 64 + 3));
}

TEST_CASE("annotate counts on a GPU, and reports if there is none") {
  const Outcome other = gpuexp("annotate matmul/naive --counters --gpu h200");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, contains_text("--counters"));
  CHECK(gpuexp("annotate matmul/naive --device 1").exit_code == 2);
  const Outcome counted =
      gpuexp("annotate matmul/naive --set m=64 --set n=64 --set k=64 --counters");
  if (gpuexp("info").exit_code == 0) return;  // the GPU tests count
  CHECK(counted.exit_code == 5);
  CHECK_THAT(counted.output, contains_text("without --counters, annotate runs on the CPU only"));
}

// A code block holds a command, after "$ ", and its output.
TEST_CASE("the examples of docs/annotate.md match the commands' output", "[machine_code]") {
  if (!knows_machine_code(gpuexp("describe matmul").output)) return;
  const std::filesystem::path path =
      std::filesystem::path(GPUEXP_SOURCE_DIR) / "docs" / "annotate.md";
  std::string page = read_file(path);
  const std::string begin = "```\n$ build/gpuexp ";
  const std::string fence = "\n```\n";
  int examples = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos; ++examples) {
    const std::size_t command = at + begin.size();
    const std::size_t text = page.find('\n', command) + 1;
    const std::size_t end = page.find(fence, text - 1);
    REQUIRE(end != std::string::npos);
    const std::string arguments = page.substr(command, text - 1 - command);
    std::string printed = gpuexp(arguments).output;
    printed.pop_back();
    INFO(arguments);
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
      page.replace(text, end < text ? 0 : end - text, printed + (end < text ? "\n" : ""));
    } else {
      CHECK(page.substr(text, end - text) == printed);
    }
    at = page.find(fence, text - 1);
  }
  CHECK(examples == 3);
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(path) << page;
}

}  // namespace
}  // namespace gpuexp::test
