// Pages of docs/lessons, checked against the registry and the configs.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/config_reader.hpp"
#include "family/registry.hpp"
#include "lesson/lesson_page.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRepository = GPUEXP_SOURCE_DIR;

std::string page_text(const std::string& lesson) {
  std::ifstream in(kRepository / "docs" / "lessons" / (lesson + ".md"));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Lessons in all.json, whose experiments are named <lesson>.<experiment>.
std::set<std::string> lessons() {
  const Config all = read_config(kRepository / "configs" / "all.json", Registry::global(), {});
  std::set<std::string> names;
  for (const Experiment& experiment : all.experiments)
    names.insert(experiment.name.substr(0, experiment.name.find('.')));
  return names;
}

std::set<std::string> families_of(const std::string& lesson) {
  const Config config =
      read_config(kRepository / "configs" / (lesson + ".json"), Registry::global(), {});
  std::set<std::string> ids;
  for (const Experiment& experiment : config.experiments)
    ids.insert(experiment.family->id);
  return ids;
}

// Families shown by parts of these kinds.
std::set<std::string> shown(const std::string& lesson, std::set<LessonPartKind> kinds) {
  std::set<std::string> families;
  for (const LessonPiece& piece : parse_lesson(page_text(lesson), lesson).pieces) {
    if (piece.part && kinds.count(piece.part->kind) > 0) families.insert(piece.part->subject);
  }
  return families;
}

TEST_CASE("every lesson has a page that measures each family of its config") {
  for (const std::string& lesson : lessons()) {
    const auto measured = shown(lesson, {LessonPartKind::measurement, LessonPartKind::sweep});
    for (const std::string& family : families_of(lesson)) {
      INFO(lesson << ": " << family);
      CHECK(measured.count(family) == 1);
    }
  }
}

TEST_CASE("every variant of a lesson's families is described on a page") {
  for (const std::string& lesson : lessons()) {
    for (const std::string& family : families_of(lesson)) {
      std::set<std::string> pages;
      for (const std::string& page : lessons()) {
        if (shown(page, {LessonPartKind::variants}).count(family) > 0) pages.insert(page);
      }
      INFO(family);
      REQUIRE(pages.size() == 1);
      const std::string text = page_text(*pages.begin());
      for (const Variant& variant : Registry::global().find(family)->variants) {
        INFO(variant.id);
        CHECK_THAT(text, contains_text("- **`" + variant.id + "`**"));
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
