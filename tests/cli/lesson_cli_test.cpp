// Generated lesson pages, and those of docs/lessons.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

// README and every page of docs, relative to the source folder, without the generated report.
std::vector<std::string> pages() {
  const fs::path source = GPUEXP_SOURCE_DIR;
  std::vector<std::string> pages{"README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs")) {
    const std::string page = entry.path().lexically_relative(source).generic_string();
    if (page.ends_with(".md") && page != "docs/results/h200/all.md") pages.push_back(page);
  }
  std::sort(pages.begin(), pages.end());
  REQUIRE(pages.size() > 15);
  return pages;
}

TEST_CASE("a lesson's parts are generated from recorded results") {
  check_golden("lesson", "lesson tests/cli/data/lesson.md", 0);
  check_golden("lesson_other",
               "lesson tests/cli/data/lesson.md --results tests/cli/data/compare_a.json", 0);
}

TEST_CASE("a lesson written to another folder names its results relative to it") {
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

TEST_CASE("results without any family of the page are refused, and no page is written") {
  const ScratchFolder scratch;
  const std::string page = (scratch.path() / "page.md").string();
  std::ofstream(page) << "<!-- gpuexp: measurement matmul -->\n<!-- /gpuexp -->\n"
                         "<!-- gpuexp: counters spmv -->\n<!-- /gpuexp -->\n";
  const fs::path out = scratch.path() / "out.md";
  const auto update = [&](const std::string& results) {
    return gpuexp("lesson " + page + " --results " + results + " --out " + out.string());
  };
  const Outcome refused = update("tests/cli/data/pytorch.json");
  CHECK(refused.exit_code == 2);
  CHECK(refused.output ==
        "gpuexp: --results tests/cli/data/pytorch.json: has no rows of matmul, spmv, the families "
        "of " +
            page + "; found rows of fusion, transpose\n");
  CHECK_FALSE(fs::exists(out));
  // One family of the page is enough.
  CHECK(update("tests/cli/data/compare_a.json").exit_code == 0);
  CHECK(fs::exists(out));
}

TEST_CASE("README and docs match the recorded files") {
  for (const std::string& page : pages()) {
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) gpuexp("lesson " + page + " --out " + page);
    INFO(page << " is stale: gpuexp lesson " << page << " --out " << page);
    const Outcome outcome = gpuexp("lesson " + page);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output == read_file(fs::path(GPUEXP_SOURCE_DIR) / page));
  }
}

TEST_CASE("the report in docs matches the recorded results") {
  const std::string arguments = "report docs/results/h200/all.json.zst --format markdown";
  const fs::path path = fs::path(GPUEXP_SOURCE_DIR) / "docs/results/h200/all.md";
  const Outcome outcome = gpuexp(arguments);
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(path) << outcome.output;
  CHECK(outcome.exit_code == 0);
  INFO("docs/results/h200/all.md is stale: gpuexp " << arguments);
  CHECK((outcome.output == read_file(path)));
}

TEST_CASE("a page that needs no results is read without any") {
  const Outcome outcome = gpuexp("lesson docs/columns.md");
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("| `time_median_us` | us | real | passed | "));
}

TEST_CASE("an error in a page's value names the file that cannot be read") {
  const fs::path page = fs::temp_directory_path() / "gpuexp_cli_value.md";
  std::ofstream(page) << "a ?\n<!-- gpuexp: values\n? = b column=c file=absent.csv\n-->\n";
  const Outcome outcome = gpuexp("lesson " + page.string());
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text("gpuexp_cli_value.md:3: "));
  CHECK_THAT(outcome.output, contains_text("absent.csv"));
  fs::remove(page);
}

// ---- commands in pages

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream text(command.substr(0, command.find(" #")));
  std::vector<std::string> words;
  for (std::string word; text >> word && word != ">";)
    words.push_back(word);
  return words;
}

// Replaces the results folder of a page by a recorded one; PyTorch's has other variants.
std::string with_results(const std::string& word) {
  if (word.starts_with("results/pytorch/")) return "tests/cli/data/pytorch.json";
  return word.starts_with("results/") ? "docs/results/h200/quickstart.json.zst" : word;
}

// The arguments of a run for `plan`, without options of runs only.
std::string planned(const std::vector<std::string>& words) {
  std::string all = "plan";
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--out" || word == "--against" || word == "--fail-on" || word == "--listen") {
      ++i;
    } else if (word == "--simulate") {
      all += " --gpu";
    } else if (!word.starts_with("--counters") && word != "--profile") {
      all += " " + word;
    }
  }
  return all;
}

// A page's command, changed to run without a GPU and without writing files. "" if it needs a GPU,
// CUPTI or files that do not exist.
std::string without_gpu(const std::vector<std::string>& words) {
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::string& command = words.at(1);
  if (command == "merge") return "";  // fleet_cli_test.cpp runs that of docs/fleet.md
  if (has("--resume") || has("--calibrate") || (command == "info" && !has("--from"))) return "";
  if (command == "list" && words.size() > 3) return "";
  if (command == "run" || command == "verify") return planned(words);
  std::string all;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--out") {
      ++i;
    } else if (command == "annotate" && words[i] == "--counters") {
      continue;
    } else {
      all += with_results(words[i]) + " ";
    }
  }
  return all;
}

// Commands in code blocks, also after a prompt or a profiler.
std::vector<std::string> commands_of(const std::string& page) {
  std::istringstream lines(read_file(fs::path(GPUEXP_SOURCE_DIR) / page));
  std::vector<std::string> commands;
  bool is_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) is_code = !is_code;
    const std::size_t at = line.find("build/gpuexp ");
    if (is_code && at != std::string::npos && line.find("$i") == std::string::npos)
      commands.push_back(line.substr(at));
  }
  return commands;
}

// Replaces line breaks by spaces, since pages wrap lines.
std::string unwrapped(const std::string& text) {
  std::istringstream in(text);
  std::string all;
  for (std::string word; in >> word;)
    all += word + " ";
  return all;
}

TEST_CASE("output shown after a prompt in pages matches the program's") {
  const std::string prompt = "\n$ build/gpuexp ";
  int shown = 0;
  for (const std::string& page : pages()) {
    const fs::path path = fs::path(GPUEXP_SOURCE_DIR) / page;
    std::string text = read_file(path);
    for (std::size_t at = text.find(prompt); at != std::string::npos; at = text.find(prompt, at)) {
      at += prompt.size();
      const std::size_t begin = text.find('\n', at) + 1;
      const std::size_t end = text.find("```", begin);
      REQUIRE(end != std::string::npos);
      const std::string output = gpuexp(text.substr(at, begin - 1 - at)).output;
      ++shown;
      if (std::getenv("GPUEXP_UPDATE_GOLDEN") &&
          unwrapped(output) != unwrapped(text.substr(begin, end - begin))) {
        text.replace(begin, end - begin, output);
        std::ofstream(path) << text;
        continue;
      }
      INFO(page);
      CHECK(unwrapped(output) == unwrapped(text.substr(begin, end - begin)));
    }
  }
  CHECK(shown >= 2);
}

TEST_CASE("every command in README and docs can be planned") {
  for (const std::string& page : pages()) {
    const std::vector<std::string> commands = commands_of(page);
    const bool is_lesson = page.starts_with("docs/lessons/");
    INFO(page);
    CHECK((!commands.empty() || !is_lesson));
    for (const std::string& command : commands) {
      std::string arguments = without_gpu(words_of(command));
      if (arguments.starts_with("predict ")) arguments += " --limits";  // skips minutes of work
      if (arguments.empty() || arguments.find("CONFIG") != std::string::npos) continue;
      const Outcome outcome = gpuexp(arguments);
      constexpr int kGateFailed = 6;  // a page may show a failed gate
      // Kernel files need the toolkit's tools; own_kernel_cli_test.cpp reports the skip.
      if (outcome.output.find(" of the CUDA Toolkit in ") != std::string::npos) continue;
      INFO(command << "\n" << arguments << "\n" << outcome.output);
      CHECK((outcome.exit_code == 0 || outcome.exit_code == kGateFailed));
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
