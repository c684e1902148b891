// The outputs and the code in docs/own_kernel.md.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const fs::path kPage = fs::path(GPUEXP_SOURCE_DIR) / "docs" / "own_kernel.md";

/// The output without the line that has version and date. Results are in another folder on the
/// page.
std::string shown(std::string output, const std::string& folder) {
  static const std::regex header(R"((^|\n)gpuexp \d[^\n]*\n)");
  output = std::regex_replace(output, header, "$1");
  for (std::size_t at = 0; (at = output.find(folder, at)) != std::string::npos;)
    output.replace(at, folder.size(), "results/transpose");
  return output.substr(std::min(output.find_first_not_of('\n'), output.size()));
}

/// Whether this file holds the block of the page; tests of other commands hold other blocks.
bool is_held_here(const std::string& page, std::size_t block) {
  const std::string mark = "<!-- held by: tests/cli/own_kernel_docs_test.cpp -->";
  const std::size_t begin = page.rfind("<!-- held by: ", block);
  const std::size_t end = page.rfind("<!-- /held -->", block);
  if (begin == std::string::npos || (end != std::string::npos && end > begin)) return false;
  return page.compare(begin, mark.size(), mark) == 0;
}

TEST_CASE("the outputs in docs/own_kernel.md match the program's", "[machine_code]") {
  if (!has_compiler()) return;
  const WithoutGpu hidden;
  const ScratchFolder scratch;
  const std::string folder = (scratch.path() / "transpose").string();
  std::string page = read_file(kPage);
  const std::string begin = "```\n$ gpuexp ";
  const std::string fence = "```\n";
  int examples = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    if (!is_held_here(page, at)) {
      at += begin.size();
      continue;
    }
    ++examples;
    const std::size_t command = at + begin.size();
    const std::size_t text = page.find('\n', command) + 1;
    const std::size_t end = page.find(fence, text);
    REQUIRE(end != std::string::npos);
    std::string arguments = page.substr(command, text - 1 - command);
    const std::size_t results = arguments.find("results/transpose");
    if (results != std::string::npos)
      arguments.replace(results, std::string("results/transpose").size(), folder);
    const std::string printed = shown(gpuexp(arguments).output, folder);
    INFO(arguments);
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
      page.replace(text, end - text, printed);
    } else {
      CHECK(page.substr(text, end - text) == printed);
    }
    at = page.find(fence, text);
  }
  CHECK(examples == 7);

  // The table of counters, from the results that the page's command wrote.
  const auto rows = nlohmann::json::parse(read_file(folder + "/results.json"))["rows"];
  for (const std::string counter :
       {"global_store_sectors_per_request", "l2_sectors", "shared_load_wavefronts"}) {
    std::string line = "| " + counter + " |";
    for (const auto& row : rows) {
      if (row["param.columns"] != 4096) continue;
      const double value = row["counter." + counter];
      line += " " + std::to_string(std::llround(value)) + " |";
    }
    const std::size_t at = page.find("| " + counter + " |");
    REQUIRE(at != std::string::npos);
    const std::size_t length = page.find('\n', at) - at;
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
      page.replace(at, length, line);
    } else {
      CHECK(page.substr(at, length) == line);
    }
  }
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(kPage) << page;
}

TEST_CASE("the code in docs/own_kernel.md is that of the examples") {
  const std::string page = read_file(kPage);
  std::string examples;
  for (const auto& entry : fs::directory_iterator(fs::path(GPUEXP_SOURCE_DIR) / kExamples))
    examples += read_file(entry.path());
  const std::string begin = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    if (!is_held_here(page, at)) continue;
    ++blocks;
    const std::string code = page.substr(at, page.find("```\n", at) - at);
    INFO(code);
    CHECK(examples.find(code) != std::string::npos);
  }
  CHECK(blocks == 4);
}

TEST_CASE("the examples of checks in docs/own_kernel.md find the errors that the page names",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  using Replaced = std::vector<std::pair<std::string, std::string>>;
  const auto statuses = [&](const std::string& example, const Replaced& parts) {
    std::string text = read_file(fs::path(GPUEXP_SOURCE_DIR) / kExamples / example);
    for (const auto& [part, by] : parts) {
      const std::size_t at = text.find(part);
      REQUIRE(at != std::string::npos);
      text.replace(at, part.size(), by);
    }
    const std::string file = folder.write(example, text);
    const std::string json = folder.path("report.json");
    gpuexp("verify " + file + kSimulated + " --quiet --json " + json);
    const nlohmann::json report = nlohmann::json::parse(read_file(json));
    std::vector<std::string> found;
    for (const auto& row : report["rows"])
      found.push_back(row["status"]);
    return found;
  };
  using Statuses = std::vector<std::string>;
  CHECK(statuses("layernorm.cu", {}) == Statuses{"passed", "passed"});
  const std::pair<std::string, std::string> ignored{" / columns + epsilon)", " / columns)"};
  CHECK(statuses("layernorm.cu", {ignored}) == Statuses{"passed", "incorrect"});
  const std::pair<std::string, std::string> small{"= normal\n", "= uniform(0, 0.01)\n"};
  CHECK(statuses("layernorm.cu", {small}) == Statuses{"passed", "passed"});
  CHECK(statuses("layernorm.cu", {small, ignored}) == Statuses{"incorrect", "incorrect"});
  CHECK(statuses("momentum.cu", {}) == Statuses{"passed"});
  CHECK(statuses("momentum.cu", {{"rate * changed", "rate * gradient[i]"}}) ==
        Statuses{"incorrect"});
  CHECK(statuses("momentum.cu", {{"velocity[i] = changed;", ""}}) == Statuses{"incorrect"});
}

}  // namespace
}  // namespace gpuexp::test
