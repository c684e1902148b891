#include "base/config_error.hpp"
#include "fuzz/promises.hpp"
#include "lesson/lesson.hpp"
#include "support/sample_report.hpp"

namespace gpuexp::fuzz {

namespace {

std::string rendered(std::string_view page) {
  static const Report report = test::sample_report(48, 8);
  static const Table study =
      parse_recorded_csv("name,value\na,1\nb,\"<!-- /gpuexp -->\"\n", "study.csv");
  const auto recorded = [](const std::string& file) { return RecordedTable{file, &study}; };
  const LessonSource source{fake::registry(), report, "../results/all.json", {}, recorded};
  return render_lesson(parse_lesson(page, "fuzz.md"), source);
}

}  // namespace

void fuzz_lesson(std::string_view text) {
  try {
    const std::string page = rendered(text);
    require(rendered(page) == page, "a page rendered again from the same results is unchanged");
  } catch (const ConfigError& e) {
    check_message(e, "fuzz.md");
  }
}

}  // namespace gpuexp::fuzz
