#include "analysis/fleet_comparison.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "render/fleet_page.hpp"
#include "render/terminal.hpp"
#include "support/catch.hpp"
#include "support/run_report.hpp"

namespace gpuexp::test {
namespace {

constexpr MinimumEffect kEffect{0.02, 0};

/// A run with `cells` cells on one GPU, at `factor` times their usual times.
Report run_on(const std::string& uuid, double factor, int cells = 8) {
  std::vector<RunRow> rows;
  for (int i = 0; i < cells; ++i) {
    const double time_us = factor * (10.0 + i);
    // 0.05 % of noise.
    std::vector<double> samples;
    for (int s = 0; s < 20; ++s)
      samples.push_back(time_us * (1 + 0.0005 * (s % 3 - 1)));
    rows.push_back({fmt::format("e/row{}", i), samples});
  }
  Report report = run_report(rows);
  report.provenance.device.uuid = uuid;
  report.provenance.device.name = "NVIDIA H200";
  report.provenance.host = "node-" + uuid;
  return report;
}

FleetComparison compared(const std::vector<Report>& reports) {
  std::vector<FleetResults> results;
  for (const Report& report : reports)
    results.push_back({report.provenance.device.uuid.value_or("no UUID"), report});
  return compare_fleet(results, kEffect);
}

std::string refusal(const std::vector<Report>& reports) {
  try {
    compared(reports);
  } catch (const ReportError& e) {
    return e.what();
  }
  return "";
}

std::string shown(const FleetComparison& fleet, bool all = false) {
  TerminalOptions options;
  options.width = 200;
  return render_terminal(page_of(fleet, {}, all), options);
}

TEST_CASE("in a uniform fleet no GPU is an outlier", "[fleet]") {
  const std::vector<Report> runs{run_on("GPU-a", 1), run_on("GPU-b", 1.005), run_on("GPU-c", 0.996),
                                 run_on("GPU-d", 1.002)};
  const FleetComparison fleet = compared(runs);
  REQUIRE(fleet.gpus.size() == 4);
  for (const FleetGpu& gpu : fleet.gpus) {
    CHECK_FALSE(gpu.stands_out());
    CHECK(gpu.cells == 8);
    CHECK(gpu.slower + gpu.faster == 0);
  }
  CHECK(fleet.keys == 8);
  CHECK(standing_out(fleet).empty());
  CHECK_THAT(shown(fleet),
             contains_text("no GPU stands out") && !contains_text("SLOWER") &&
                 contains_text("4 GPUs, 8 cells on two or more of them; 0 stand out"));
}

TEST_CASE("a slow GPU is an outlier, the others are not", "[fleet]") {
  const std::vector<Report> runs{run_on("GPU-a", 1), run_on("GPU-b", 1.06), run_on("GPU-c", 1.001),
                                 run_on("GPU-d", 0.999)};
  const FleetComparison fleet = compared(runs);
  // Slowest first.
  CHECK(fleet.gpus[0].uuid == "GPU-b");
  CHECK(fleet.gpus[0].host == "node-GPU-b");
  CHECK(fleet.gpus[0].verdict == Verdict::slower);
  CHECK(fleet.gpus[0].slower == 8);
  CHECK(fleet.gpus[0].median_ratio == Approx(1.06).epsilon(0.002));
  for (std::size_t i = 1; i < 4; ++i)
    CHECK_FALSE(fleet.gpus[i].stands_out());
  const std::string text = shown(fleet);
  CHECK_THAT(text, contains_text("GPU-b on node-GPU-b is slower: 1.0") &&
                       contains_text("8 of 8 cells beyond noise"));
  CHECK_THAT(text, contains_text("e/row0") && !contains_text("e/row7"));
  CHECK_THAT(shown(fleet, true), contains_text("e/row7"));
}

TEST_CASE("a GPU that is slow in one of few cells is an outlier", "[fleet]") {
  Report odd = run_on("GPU-c", 1);
  for (double& us : odd.samples_us[3])
    us *= 1.3;
  const std::vector<Report> runs{run_on("GPU-a", 1), run_on("GPU-b", 1), odd};
  const FleetComparison fleet = compared(runs);
  CHECK(fleet.gpus[0].uuid == "GPU-c");
  CHECK(fleet.gpus[0].slower == 1);
  CHECK(fleet.gpus[0].verdict == Verdict::slower);
  CHECK(fleet.gpus[0].median_ratio == Approx(1));
  CHECK_FALSE(fleet.gpus[1].stands_out());
}

TEST_CASE("one slow cell in a hundred is within chance", "[fleet]") {
  Report odd = run_on("GPU-c", 1, 100);
  for (double& us : odd.samples_us[3])
    us *= 1.05;
  const std::vector<Report> runs{run_on("GPU-a", 1, 100), run_on("GPU-b", 1, 100), odd};
  const FleetComparison fleet = compared(runs);
  CHECK(fleet.gpus[0].slower == 1);
  CHECK_FALSE(fleet.gpus[0].stands_out());
}

TEST_CASE("differences within noise are not slower", "[fleet]") {
  Report noisy = run_on("GPU-b", 1.06);
  for (std::vector<double>& samples : noisy.samples_us) {
    for (std::size_t s = 0; s < samples.size(); ++s)
      samples[s] *= s % 2 == 0 ? 0.8 : 1.2;
  }
  const std::vector<Report> runs{run_on("GPU-a", 1), noisy, run_on("GPU-c", 1)};
  const FleetComparison fleet = compared(runs);
  for (const FleetGpu& gpu : fleet.gpus)
    CHECK(gpu.slower == 0);
}

TEST_CASE("a GPU that fails where others pass is an outlier", "[fleet]") {
  Report broken = run_on("GPU-b", 1);
  broken.table.rows[2].status = Status::incorrect;
  const std::vector<Report> runs{run_on("GPU-a", 1), broken, run_on("GPU-c", 1)};
  const FleetComparison fleet = compared(runs);
  CHECK(fleet.keys == 8);
  const auto found = std::find_if(fleet.gpus.begin(), fleet.gpus.end(),
                                  [](const FleetGpu& gpu) { return gpu.uuid == "GPU-b"; });
  CHECK(found->not_passed == 1);
  CHECK(found->verdict == Verdict::same);
  CHECK(found->stands_out());
  CHECK_THAT(shown(fleet),
             contains_text("BROKEN") && contains_text("GPU-b on node-GPU-b did not pass 1 cell"));
}

TEST_CASE("rows of merged results belong to the GPU that they name", "[fleet]") {
  Report merged = run_on("GPU-a", 1);
  const Report slow = run_on("GPU-b", 1.1);
  const std::size_t cells = merged.table.rows.size();
  for (std::size_t i = 0; i < cells; ++i) {
    merged.table.rows[i].gpu_uuid = "GPU-a";
    merged.table.rows.push_back(slow.table.rows[i]);
    merged.table.rows.back().gpu_uuid = "GPU-b";
    merged.samples_us.push_back(slow.samples_us[i]);
  }
  merged.provenance.device.uuid.reset();
  const FleetComparison fleet = compared({merged});
  REQUIRE(fleet.gpus.size() == 2);
  CHECK(fleet.gpus[0].uuid == "GPU-b");
  // The median of two lies halfway between them.
  CHECK(fleet.gpus[0].median_ratio == Approx(1.1 / 1.05).epsilon(0.002));
  CHECK(fleet.gpus[1].verdict == Verdict::faster);
}

TEST_CASE("cells of only one GPU are left out and reported", "[fleet]") {
  const std::vector<Report> runs{run_on("GPU-a", 1, 8), run_on("GPU-b", 1, 5)};
  const FleetComparison fleet = compared(runs);
  CHECK(fleet.keys == 5);
  REQUIRE(fleet.left_out.size() == 3);
  CHECK(fleet.left_out[0] == "e/row5: only one GPU has it");
  CHECK_THAT(shown(fleet), contains_text("3 left out"));
}

TEST_CASE("invalid fleets are rejected", "[fleet]") {
  CHECK_THAT(refusal({run_on("GPU-a", 1)}), contains_text("of one GPU (GPU-a)"));
  CHECK_THAT(refusal({run_on("GPU-a", 1), run_on("GPU-a", 1)}),
             contains_text("e/row0 was measured on GPU-a in GPU-a and in GPU-a"));
  Report nameless = run_on("GPU-a", 1);
  nameless.provenance.device.uuid.reset();
  CHECK_THAT(refusal({nameless, run_on("GPU-b", 1)}),
             contains_text("no UUID: no UUID of the GPU that e/row0 was measured on"));
  Report shard = run_on("GPU-b", 1);
  for (ResultRecord& row : shard.table.rows)
    row.key += "-other";
  CHECK_THAT(refusal({run_on("GPU-a", 1), shard}),
             contains_text("no cell has times of two GPUs") &&
                 contains_text("the shards of a run measure each cell once"));
}

TEST_CASE("JSON of a fleet comparison has all GPUs and cells", "[fleet][json]") {
  const std::vector<Report> runs{run_on("GPU-a", 1), run_on("GPU-b", 1.06), run_on("GPU-c", 1)};
  const FleetComparison fleet = compared(runs);
  const auto json = nlohmann::json::parse(
      to_json(fleet, {{"a.json", "b.json", "c.json"}, kEffect, "the default", {"x"}}));
  CHECK(json["across"] == "uuid");
  CHECK(json["gpus"].size() == 3);
  CHECK(json["gpus"][0]["gpu_uuid"] == "GPU-b");
  CHECK(json["gpus"][0]["stands_out"] == true);
  CHECK(json["gpus"][1]["stands_out"] == false);
  CHECK(json["rows"].size() == 24);
  CHECK(json["rows"][0]["key"] == "e/row0");
  CHECK(json["columns"].size() == json["rows"][0].size());
}

}  // namespace
}  // namespace gpuexp::test
