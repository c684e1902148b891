// Expected counter changes of variants, compared with counters recorded on an H200.
#include <map>
#include <set>

#include "analysis/least_times.hpp"
#include "family/expected_change.hpp"
#include "family/registry.hpp"
#include "registry/registry.hpp"
#include "results/declarations.hpp"
#include "results/json_read.hpp"
#include "results/results.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

// Recorded rows with the variants' current declarations.
Report recorded() {
  Report report = read_report(std::string(GPUEXP_SOURCE_DIR) + "/tests/cli/data/counted.json");
  for (ResultRecord& row : report.table.rows) {
    const Family& family = *Registry::global().find(row.family);
    const Variant& variant = *family.find(row.variant);
    row.compare_to = variant.compare_to;
    row.expected_changes =
        expected_changes_at(variant.expected_changes, problem_of(family, row.parameters).get());
  }
  return report;
}

// Variants ("family/variant") whose expected changes the rows show.
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
      CHECK(matches_expectation(expected, *from, *to));
      checked.insert(row.family + "/" + row.variant);
    }
  }
  return checked;
}

TEST_CASE("counters recorded on an H200 changed as variants declare") {
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
      // No lesson both reads and copies the same array.
      if (variant.expected_changes.empty() || id == "vector_width/read_4b") continue;
      INFO(id);
      CHECK(checked.count(id) == 1);
    }
  }
}

// Without a change that applies at this problem, the GPU test would check nothing.
TEST_CASE("every variant's expected changes apply at the problem that shows it") {
  for (const Family& family : Registry::global().families()) {
    for (const Variant& variant : family.variants) {
      if (variant.expected_changes.empty()) continue;
      INFO(family.id << "/" << variant.id);
      const auto problem = family.make_problem(family.shown_at(variant, family.defaults()));
      CHECK_FALSE(expected_changes_at(variant.expected_changes, problem.get()).empty());
    }
  }
}

// For at least one combination of types.
bool is_supported(const Family& family, const Variant& variant, bool is_shown) {
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  for (const Values& values : choice_combinations(family)) {
    const auto problem = family.make_problem(is_shown ? family.shown_at(variant, values) : values);
    if (family.unsupported && family.unsupported(problem.get(), device)) continue;
    if (!(variant.unsupported && variant.unsupported(problem.get(), device))) return true;
  }
  return false;
}

TEST_CASE("a variant's shown_at problem runs on an H200, and is set only if the default does not") {
  for (const Family& family : Registry::global().families()) {
    for (const Variant& variant : family.variants) {
      INFO(family.id << "/" << variant.id);
      for (const auto& [name, value] : variant.shown_at) {
        const Parameter* parameter = family.find_parameter(name);
        REQUIRE(parameter != nullptr);
        CHECK(value.index() == parameter->default_value.index());
      }
      CHECK(is_supported(family, variant, true));
      if (!variant.shown_at.empty()) CHECK_FALSE(is_supported(family, variant, false));
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
