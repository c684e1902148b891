// Reports as JSON and as pages of HTML.
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "base/compressed.hpp"
#include "base/output.hpp"
#include "cli/program.hpp"
#include "support/scratch_folder.hpp"
#include "support/viewer_page.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a report is written as JSON, with or without its samples") {
  const std::string file = "docs/results/h200/quickstart.json.zst";
  const auto recorded = nlohmann::json::parse(read_text(fs::path(GPUEXP_SOURCE_DIR) / file));
  const Outcome all = gpuexp("report " + file + " --format json");
  CHECK(all.exit_code == 0);
  CHECK(nlohmann::json::parse(all.output, nullptr, false) == recorded);
  const Outcome without = gpuexp("report " + file + " --format json --no-samples");
  CHECK(without.exit_code == 0);
  auto expected = recorded;
  for (auto& row : expected["rows"])
    row.erase("samples_us");
  CHECK(nlohmann::json::parse(without.output, nullptr, false) == expected);
}

TEST_CASE("a file is compressed if its name ends in .zst, and commands read it under any name") {
  const ScratchFolder folder;
  const fs::path written = folder.path() / "report.json.zst";
  const fs::path plain = folder.path() / "a.json";
  const fs::path packed = folder.path() / "b.json";
  fs::copy_file(fs::path(GPUEXP_SOURCE_DIR) / "tests/cli/data/compare_a.json", plain);
  const std::string report = "report " + plain.string() + " --format json";
  CHECK(gpuexp(report + " --out " + written.string()).exit_code == 0);
  CHECK(is_compressed(read_file(written)));
  CHECK(read_text(written) == gpuexp(report).output);
  fs::rename(written, packed);
  for (const std::string command : {"report ", "explain ", "compare tests/cli/data/compare_b.json ",
                                    "lesson tests/cli/data/lesson.md --results "}) {
    INFO(command);
    const Outcome of_packed = gpuexp(command + packed.string());
    CHECK(of_packed.exit_code == 0);
    std::string expected = gpuexp(command + plain.string()).output;
    for (auto at = expected.find("a.json"); at != std::string::npos; at = expected.find("a.json"))
      expected.replace(at, 1, "b");
    CHECK(of_packed.output == expected);
  }
}

TEST_CASE("a report is a page of HTML, on standard output or in a file") {
  const std::string file = "docs/results/h200/quickstart.json.zst";
  const Outcome page = gpuexp("report " + file + " --format html");
  CHECK(page.exit_code == 0);
  CHECK(page.output.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK_THAT(page.output, contains_text("</html>\n"));
  const auto data = data_of_page(page.output);
  CHECK(data.at("provenance").at("device").at("name").get<std::string>() == "NVIDIA H200");
  CHECK(data.at("experiments").size() > 1);
  CHECK_THAT(data.at("experiments").dump(), contains_text("\"explanations\":["));
  CHECK_THAT(data.at("families").dump(), contains_text("\"summary\":\"Source: kernels/"));
  const fs::path out = fs::temp_directory_path() / "gpuexp_cli_report.html";
  const Outcome written = gpuexp("report " + file + " --format html --out " + out.string());
  CHECK(written.exit_code == 0);
  CHECK(written.output.empty());
  CHECK(read_file(out) == page.output);
  fs::remove(out);
  const Outcome nowhere = gpuexp("report " + file + " --format html --out /absent/report.html");
  CHECK(nowhere.exit_code == 1);
  CHECK_THAT(nowhere.output, contains_text("/absent/report.html"));
}

TEST_CASE("a page of more than a thousand rows is below 5 MB") {
  constexpr std::size_t kMaxBytes = 5'000'000;
  const Outcome page = gpuexp("report docs/results/h200/all.json.zst --format html");
  CHECK(page.exit_code == 0);
  CHECK(page.output.size() < kMaxBytes);
  CHECK(data_of_page(page.output).at("rows").get<int>() > 1000);
}

TEST_CASE("comparisons can be pages of HTML") {
  const Outcome runs = gpuexp(
      "compare tests/cli/data/compare_a.json tests/cli/data/compare_b.json --min-effect 2 "
      "--fail-on slower --format html");
  CHECK(runs.exit_code == 6);
  const Json data = data_of_page(runs.output);
  CHECK(data.at("title").get<std::string>() ==
        "tests/cli/data/compare_a.json and tests/cli/data/compare_b.json");
  CHECK_THAT(data.at("head").dump(), contains_text("min. effect: 2 % (--min-effect)"));
  CHECK_THAT(data.at("experiments").dump(), contains_text("\"95 % interval\""));
  CHECK_THAT(data.at("experiments").dump(), contains_text("SLOWER"));
  const Outcome fleet = gpuexp(
      "compare --across uuid tests/cli/data/fleet_b.json tests/cli/data/fleet_a.json "
      "tests/cli/data/fleet_c.json --format html");
  CHECK(fleet.exit_code == 0);
  CHECK_THAT(data_of_page(fleet.output).at("experiments").dump(),
             contains_text("\"median ratio\""));
}

}  // namespace
}  // namespace gpuexp::test
