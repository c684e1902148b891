// What variants declare of hardware counters, held against counters that an H200 gave.
#include <map>
#include <set>

#include "analysis/least_times.hpp"
#include "family/expected_change.hpp"
#include "family/registry.hpp"
#include "results/declarations.hpp"
#include "results/json_read.hpp"
#include "results/results.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

Report recorded() {
  Report report = read_report(std::string(GPUEXP_SOURCE_DIR) + "/tests/cli/data/counted.json");
  add_declarations(report.table, Registry::global());
  return report;
}

// "family/variant" of those whose expected changes the rows show.
std::set<std::string> check_expected_changes(const ExperimentResults& experiment) {
  std::map<std::string, RecordRef> rows;
  for (const ResultRecord& row : experiment.rows)
    rows.emplace(row.variant + group_of(experiment, row), row);
  std::set<std::string> checked;
  for (const ResultRecord& row : experiment.rows) {
    const auto reference = rows.find(row.compare_to + group_of(experiment, row));
    if (reference == rows.end()) continue;
    for (const ExpectedChange& expected : row.expected_changes) {
      const auto from = count_of(reference->second, expected.counter);
      const auto to = count_of(row, expected.counter);
      INFO(row.key << ": " << text_of({expected}));
      REQUIRE(from.has_value());
      REQUIRE(to.has_value());
      INFO(*from << " -> " << *to);
      CHECK(happened(expected, *from, *to));
      checked.insert(row.family + "/" + row.variant);
    }
  }
  return checked;
}

TEST_CASE("counters that an H200 gave changed as variants declare") {
  const Report report = recorded();
  std::set<std::string> checked;
  std::set<std::string> families;
  for (const ExperimentResults& experiment : experiments_of(report.table)) {
    checked.merge(check_expected_changes(experiment));
    families.insert(experiment.constant(&ResultRecord::family));
  }
  for (const Family& family : Registry::global().families()) {
    if (families.count(family.id) == 0) continue;
    for (const Variant& variant : family.variants) {
      const std::string id = family.id + "/" + variant.id;
      // No lesson reads and copies the same array.
      if (variant.expected_changes.empty() || id == "vector_width/read_4b") continue;
      INFO(id);
      CHECK(checked.count(id) == 1);
    }
  }
}

// A condition that no default meets would leave the test on a GPU with nothing to hold.
TEST_CASE("every variant promises changes at its family's default problem") {
  for (const Family& family : Registry::global().families()) {
    const auto problem = family.make_problem(values_with(family));
    for (const Variant& variant : family.variants) {
      if (variant.expected_changes.empty()) continue;
      INFO(family.id << "/" << variant.id);
      CHECK_FALSE(expected_changes_at(variant.expected_changes, problem.get()).empty());
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
