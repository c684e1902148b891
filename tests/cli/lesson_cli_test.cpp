// Lesson pages as the program makes them, and those of docs/lessons.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

// The pages of docs/lessons; README.md is no page.
std::vector<fs::path> lesson_pages() {
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(fs::path(GPUEXP_SOURCE_DIR) / "docs/lessons")) {
    const fs::path& path = entry.path();
    if (path.extension() == ".md" && path.stem() != "README") pages.push_back(path);
  }
  REQUIRE_FALSE(pages.empty());
  return pages;
}

TEST_CASE("a lesson's parts are made from recorded results") {
  check_golden("lesson", "lesson tests/cli/data/lesson.md", 0);
  check_golden("lesson_other",
               "lesson tests/cli/data/lesson.md --results tests/cli/data/compare_a.json", 0);
}

TEST_CASE("a lesson written elsewhere names its results from there") {
  const fs::path folder = fs::temp_directory_path() / "gpuexp_cli_lesson";
  fs::create_directories(folder);
  const fs::path page = folder / "page.md";
  std::ofstream(page) << "<!-- gpuexp: results absent.json -->\n<!-- gpuexp: provenance -->\n"
                         "<!-- /gpuexp -->\n";
  fs::copy_file(fs::path(GPUEXP_SOURCE_DIR) / "tests/cli/data/compare_a.json",
                folder / "results.json", fs::copy_options::overwrite_existing);
  const Outcome outcome = gpuexp("lesson " + page.string() + " --results " +
                                 (folder / "results.json").string() + " --out " + page.string());
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.empty());
  CHECK_THAT(read_file(page), contains_text("<!-- gpuexp: results results.json -->\n"));
  CHECK_THAT(read_file(page), contains_text("Recorded in [results.json](<results.json>)"));
  CHECK(gpuexp("lesson " + page.string()).output == read_file(page));
  fs::remove_all(folder);
}

TEST_CASE("the lessons are as the recorded results make them") {
  for (const fs::path& path : lesson_pages()) {
    const std::string page = "docs/lessons/" + path.filename().string();
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) gpuexp("lesson " + page + " --out " + page);
    INFO(page << " is stale: gpuexp lesson " << page << " --out " << page);
    const Outcome outcome = gpuexp("lesson " + page);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output == read_file(path));
  }
}

// "build/gpuexp run X --counters --set n=1" as `plan` takes it; what touches no GPU stays.
std::string without_gpu(const std::string& command) {
  std::istringstream words(command);
  std::string all;
  for (std::string word; words >> word;) {
    if (word == "build/gpuexp" || word.starts_with("--counters")) continue;
    all += (word == "run" ? "plan" : word) + " ";
  }
  return all;
}

TEST_CASE("every command that a lesson tells to try can be planned") {
  for (const fs::path& path : lesson_pages()) {
    std::istringstream lines(read_file(path));
    int commands = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("build/gpuexp ")) continue;
      ++commands;
      const Outcome outcome = gpuexp(without_gpu(line));
      INFO(path.filename() << ": " << line << "\n" << outcome.output);
      CHECK(outcome.exit_code == 0);
    }
    INFO(path.filename());
    CHECK(commands > 0);
  }
}

}  // namespace
}  // namespace gpuexp::test
