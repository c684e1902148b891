// Expected counter changes of variants: when they occurred, and their text in results.
#include "family/expected_change.hpp"

#include <cmath>

#include "family/registry.hpp"
#include "results/declarations.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

ExpectedChange expected(Direction direction, double factor = 1.05) {
  return {"dram_read_bytes", direction, factor, {}};
}

TEST_CASE("An expected change occurred if the counter changed in its direction by the factor",
          "[expected_changes]") {
  CHECK(matches_expectation(expected(Direction::decreases, 2), 10, 5));
  CHECK_FALSE(matches_expectation(expected(Direction::decreases, 2), 10, 5.1));
  CHECK_FALSE(matches_expectation(expected(Direction::decreases, 2), 5, 10));
  CHECK(matches_expectation(expected(Direction::increases, 2), 5, 10));
  CHECK_FALSE(matches_expectation(expected(Direction::increases, 2), 5, 9.9));
  CHECK(matches_expectation(expected(Direction::unchanged), 100, 104));
  CHECK(matches_expectation(expected(Direction::unchanged), 104, 100));
  CHECK_FALSE(matches_expectation(expected(Direction::unchanged), 100, 106));
}

TEST_CASE("A counter at zero cannot decrease, and any increase has the required factor",
          "[expected_changes]") {
  CHECK(matches_expectation(expected(Direction::decreases, 8), 3, 0));
  CHECK_FALSE(matches_expectation(expected(Direction::decreases, 8), 0, 0));
  CHECK(matches_expectation(expected(Direction::increases, 8), 0, 1));
  CHECK_FALSE(matches_expectation(expected(Direction::increases, 8), 0, 0));
  CHECK(matches_expectation(expected(Direction::unchanged), 0, 0));
  CHECK_FALSE(matches_expectation(expected(Direction::unchanged), 0, 1));
}

TEST_CASE("A change to or from a missing number never occurred", "[expected_changes]") {
  for (const Direction direction : kDirections) {
    CHECK_FALSE(matches_expectation(expected(direction), std::nan(""), 1));
    CHECK_FALSE(matches_expectation(expected(direction), 1, std::nan("")));
  }
}

TEST_CASE("Expected changes are parsed from their text", "[expected_changes]") {
  const std::vector<ExpectedChange> changes{{"l2_sectors", Direction::decreases, 1.9, {}},
                                            {"warp_instructions", Direction::unchanged, 1.05, {}}};
  CHECK(text_of(changes) == "l2_sectors decreases 1.9;warp_instructions unchanged 1.05");
  CHECK(expected_changes_in(text_of(changes)) == changes);
  CHECK(expected_changes_in(";;l2_sectors decreases 1.9;") ==
        std::vector<ExpectedChange>{changes.front()});
  CHECK(expected_changes_in("") == std::vector<ExpectedChange>{});
  CHECK(text_of(std::vector<ExpectedChange>{}).empty());
}

TEST_CASE("Text with an invalid part holds no expected changes", "[expected_changes]") {
  for (const char* text :
       {"nonsense", "l2_sectors", "l2_sectors decreases", "l2_sectors decreases x",
        "l2_sectors decreases 0.5", "l2_sectors decreases nan", "l2_sectors decreases inf",
        "l2_sectors jumps 2", "l2_sectors decreases 2 ",
        "l2_sectors decreases 2;l2_sectors jumps 2"}) {
    INFO(text);
    CHECK(expected_changes_in(text) == std::nullopt);
  }
}

TEST_CASE("Expected changes apply if their condition holds", "[expected_changes]") {
  const Family family = toy_family();
  const Variant& second = *family.find("second");
  const auto narrow = family.make_problem({std::int64_t{8}, 0.5, std::string("narrow")});
  const auto wide = family.make_problem({std::int64_t{8}, 0.5, std::string("wide")});
  CHECK(text_of(expected_changes_at(second.expected_changes, narrow.get())) ==
        "warp_instructions unchanged 1.05");
  CHECK(text_of(expected_changes_at(second.expected_changes, wide.get())) ==
        "dram_read_bytes decreases 2;warp_instructions unchanged 1.05");
}

TEST_CASE("A row's parameters make a problem if the family allows them", "[expected_changes]") {
  const Family family = toy_family();
  const auto is_made = [&](const Field& n, double share, const char* width) {
    Table table;
    table.columns = {{"param.n", "", FieldType::integer, ""},
                     {"param.share", "", FieldType::real, ""},
                     {"param.width", "", FieldType::text, ""}};
    table.rows = {{n, share, width}};
    return problem_of(family, record_table(table).rows.front().parameters) != nullptr;
  };
  const std::int64_t n = 64;
  CHECK(is_made(n, 0.5, "wide"));
  CHECK_FALSE(is_made(n, 0.5, "of_tomorrow"));
  CHECK_FALSE(is_made(n, 2.0, "wide"));
  CHECK_FALSE(is_made(Field{}, 0.5, "wide"));
}

TEST_CASE("Invalid declarations of expected changes are defects of the family",
          "[expected_changes]") {
  const auto errors_with = [](const auto& change) {
    Family family = toy_family();
    change(family.variants.at(1));
    Registry registry;
    registry.add(std::move(family));
    std::string all;
    for (const std::string& error : registry.errors())
      all += error + "\n";
    return all;
  };
  // The toy family has other defects as well.
  CHECK(errors_with([](Variant&) {}).find("counter") == std::string::npos);
  CHECK_THAT(errors_with([](Variant& v) { v.expected_changes.clear(); }),
             contains_text("declares no expected change from variant 'first' to 'second'"));
  CHECK_THAT(errors_with([](Variant& v) { v.compare_to.clear(); }),
             contains_text("but no compare_to"));
  CHECK_THAT(errors_with([](Variant& v) { v.expected_changes[0].counter = "sectors"; }),
             contains_text("'sectors', which is not a counter, a metric of the family"));
  CHECK_THAT(errors_with([](Variant& v) { v.expected_changes[0].factor = 0.5; }),
             contains_text("by a factor below 1"));
}

}  // namespace
}  // namespace gpuexp::test
