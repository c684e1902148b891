// Comparison of two versions of a kernel by source line.
#include "analysis/line_comparison.hpp"

#include <string>
#include <vector>

#include "render/line_comparison_text.hpp"
#include "support/catch.hpp"

namespace gpuexp {
namespace {

struct Line {
  std::string text;
  double time_us = 0;  ///< 0: the line is not executed
};

/// A launch that executes the lines of one file; its predicted time is the sum of the lines' times.
class FakeVersion {
 public:
  explicit FakeVersion(const std::vector<Line>& lines) {
    AnnotatedKernel kernel;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text_ += lines[i].text + "\n";
      launch_.code_time.total_us += lines[i].time_us;
      if (lines[i].time_us == 0) continue;
      AnnotatedLine& line = kernel.lines.emplace_back();
      line.at = {"a.cu", static_cast<std::uint32_t>(i + 1)};
      line.counts.warps = 1;
      line.counts.time_us[WarpState::wait] = lines[i].time_us;
      kernel.counts += line.counts;
    }
    launch_.annotation.counts = kernel.counts;
    launch_.annotation.kernels.push_back(std::move(kernel));
    launch_.blocks = launch_.blocks_executed = 1;
    sources_.add({"a.cu", text_});
  }
  FakeVersion(const FakeVersion&) = delete;
  FakeVersion& operator=(const FakeVersion&) = delete;

  AnnotatedLaunch& launch() { return launch_; }
  AnnotatedVersion annotated() const { return {launch_, sources_}; }

 private:
  std::string text_;
  SourceFiles sources_;
  AnnotatedLaunch launch_;
};

/// "1>2 text" for each line, with "-" for a version that lacks it.
std::vector<std::string> shown(const LineComparison& comparison) {
  const auto number = [](const std::optional<SourceLine>& at) {
    return at ? std::to_string(at->line) : std::string("-");
  };
  std::vector<std::string> lines;
  for (const ComparedLine& line : comparison.lines)
    lines.push_back(number(line.before) + ">" + number(line.after) + " " + line.text);
  return lines;
}

using Shown = std::vector<std::string>;

TEST_CASE("executed lines of two versions are matched by their text") {
  const FakeVersion before({{"load", 3}, {"comment"}, {"  add", 2}, {"store", 5}});
  const FakeVersion after({{"more"}, {"load", 3}, {"sync", 1}, {"add", 2}, {"store", 1}});
  const LineComparison comparison = compare_lines(before.annotated(), after.annotated());
  CHECK(shown(comparison) == Shown{"1>2 load", "->3 sync", "3>4 add", "4>5 store"});
  CHECK(comparison.before.time_us == 10);
  CHECK(comparison.after.time_us == 7);
  CHECK(comparison.lines[3].change_us() == -4);
}

TEST_CASE("a version without common lines replaces all lines") {
  const FakeVersion before({{"a", 1}, {"b", 2}});
  const FakeVersion after({{"c", 4}});
  const LineComparison comparison = compare_lines(before.annotated(), after.annotated());
  CHECK(shown(comparison) == Shown{"1>- a", "2>- b", "->1 c"});
  CHECK(lines_that_explain(comparison, 0.8) == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("the fewest lines that explain a change are those with the largest changes") {
  const FakeVersion before({{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}});
  const FakeVersion after({{"a", 9}, {"b", 2}, {"c", 7}, {"d", 11}});
  const LineComparison comparison = compare_lines(before.annotated(), after.annotated());
  REQUIRE(comparison.change_us() == -11);
  CHECK(lines_that_explain(comparison, 0.7) == std::vector<std::size_t>{1});
  CHECK(lines_that_explain(comparison, 0.8) == std::vector<std::size_t>{1, 2});
  // Line d became slower, and does not explain why the launch became faster.
  CHECK(lines_that_explain(comparison, 1.0) == std::vector<std::size_t>{1, 2});
}

TEST_CASE("no line explains an unchanged time") {
  const FakeVersion before({{"a", 1}, {"b", 2}});
  const FakeVersion after({{"a", 2}, {"b", 1}});
  CHECK(lines_that_explain(compare_lines(before.annotated(), after.annotated()), 0.8).empty());
}

std::string text_of(const FakeVersion& before, const FakeVersion& after,
                    const std::optional<PredictionBand>& band_after = std::nullopt) {
  return line_comparison_text(compare_lines(before.annotated(), after.annotated()),
                              {{"a", {}}, {"b", band_after}}, std::nullopt, false, {});
}

TEST_CASE("the text has the band of each predicted time that has one") {
  const FakeVersion version({{"a", 10}});
  CHECK_THAT(text_of(version, version), !contains_text("±"));
  const std::string text = text_of(version, version, PredictionBand{25, "launch"});
  CHECK_THAT(text, contains_text("10.00 µs"));
  CHECK_THAT(text, contains_text("10.00 µs ± 25 %"));
}

TEST_CASE("the text says which share of a change the lines explain, unless others oppose them") {
  const FakeVersion before({{"a", 10}, {"b", 10}, {"c", 10}});
  const std::string part = text_of(before, FakeVersion({{"a", 2}, {"b", 9}, {"c", 10}}));
  CHECK_THAT(part, contains_text("The predicted time changes by −9.000 µs. 1 line explains 89 % of "
                                 "the change:\n"));
  CHECK_THAT(part, contains_text("\n2 of 3 executed lines changed:\n"));
  CHECK_THAT(part, !contains_text("all other lines"));
  const std::string opposed = text_of(before, FakeVersion({{"a", 2}, {"b", 14}, {"c", 10}}));
  CHECK_THAT(opposed, contains_text("The predicted time changes by −4.000 µs. 1 line changes it by "
                                    "−8.000 µs, and all other lines by +4.000 µs:\n"));
  CHECK_THAT(opposed, !contains_text("%"));
}

TEST_CASE("the text has no table of changed lines if none changed") {
  const FakeVersion version({{"a", 10}, {"b", 10}});
  const std::string text = text_of(version, version);
  CHECK_THAT(text, contains_text("The predicted time does not change.\n"));
  CHECK_THAT(text, contains_text("\nNo line changed; 2 lines are executed.\n"));
  CHECK_THAT(text, !contains_text("changed:"));
  const FakeVersion empty(std::vector<Line>{});
  CHECK_THAT(text_of(empty, empty), contains_text("The machine code names no executed line.\n"));
}

TEST_CASE("counts of sampled blocks are those of all blocks already") {
  FakeVersion before({{"a", 1}});
  const FakeVersion after({{"a", 1}});
  before.launch().blocks = 6;
  before.launch().blocks_executed = 2;
  const LineComparison comparison = compare_lines(before.annotated(), after.annotated());
  CHECK(comparison.before.instructions == 1);
  CHECK(comparison.after.instructions == 1);
  CHECK(comparison.before.time_us == 1);
}

}  // namespace
}  // namespace gpuexp
