// Explanations of simulated rows: counters and predicted times.
#include "analysis/predicted_difference.hpp"

#include "render/explanation_json.hpp"
#include "render/explanation_text.hpp"
#include "support/catch.hpp"
#include "support/explained_rows.hpp"

namespace gpuexp::test {
namespace {

using namespace explained;

/// The text of the first comparison of two rows, `first` and `other`.
std::string text_of_rows(const Measured& first, const Measured& other) {
  const RecordTable table = record_table(table_of({first, other}));
  const std::vector<ExperimentResults> experiments = experiments_of(table);
  const auto differences = predicted_differences_of(experiments.at(0), false);
  return text_of(experiments.at(0), differences.at(0));
}

Measured predicted(const std::string& variant, double us, const std::string& bound_by,
                   const Numbers& counters) {
  Measured row{variant, 1, counters};
  row.predicted_us = us;
  row.bound_by = bound_by;
  return row;
}

/// A kernel with 2 M wavefronts of shared memory and 2 M of global memory, and these conflicts.
Numbers sharing(double conflicts) {
  return {{"shared_bank_conflicts", conflicts},
          {"shared_load_wavefronts", 1e6 + conflicts},
          {"shared_store_wavefronts", 1e6},
          {"l1_data_wavefronts", 4e6 + conflicts},
          {"l2_sectors", 1e6}};
}

TEST_CASE("bank conflicts are the predicted cost of a variant that shared memory bounds",
          "[explanation]") {
  const std::string faster = text_of_rows(predicted("first", 40, "shared", sharing(3.1e7)),
                                          predicted("padded", 20, "latency", sharing(0)));
  CHECK(faster ==
        "padded is predicted to be 2× as fast as first (40.00 µs → 20.00 µs): no bank conflicts "
        "instead of 31 M, 1 M wavefronts of shared loads instead of 32 M. The prediction has first "
        "bound by shared, padded by latency. The predicted cost of first is bank conflicts: they "
        "are 89 % of its simulated wavefronts in L1's data stage, instead of 0 %.");
  const std::string slower = text_of_rows(predicted("first", 20, "l2", sharing(0)),
                                          predicted("tile", 40, "shared", sharing(3.1e7)));
  CHECK_THAT(slower, contains_text("tile is predicted to take 2× as long as first"));
  CHECK_THAT(slower, contains_text("31 M bank conflicts instead of none"));
  CHECK_THAT(slower, contains_text("The predicted cost of tile is bank conflicts: they are 89 %"));
}

TEST_CASE("bank conflicts are not named as a cost that the prediction does not have",
          "[explanation]") {
  Numbers many_accesses = sharing(0);
  many_accesses["l1_data_wavefronts"] = 1e8;
  many_accesses["shared_bank_conflicts"] = 1e6;
  Numbers unknown = sharing(0);
  unknown.erase("shared_bank_conflicts");
  struct Case {
    const char* what;
    Measured first;
    Measured other;
  };
  const std::vector<Case> cases{
      {"both have the same conflicts", predicted("first", 40, "shared", sharing(3.1e7)),
       predicted("other", 20, "shared", sharing(3.1e7))},
      {"another resource bounds the slower variant", predicted("first", 40, "l2", sharing(3.1e7)),
       predicted("other", 20, "shared", sharing(0))},
      {"the faster variant has the conflicts", predicted("first", 20, "shared", sharing(3.1e7)),
       predicted("other", 40, "shared", sharing(0))},
      {"the times do not differ", predicted("first", 20, "shared", sharing(3.1e7)),
       predicted("other", 20.1, "shared", sharing(0))},
      {"most additional wavefronts are no conflicts",
       predicted("first", 40, "shared", many_accesses),
       predicted("other", 20, "shared", sharing(0))},
      {"conflicts are not counted", predicted("first", 40, "shared", sharing(3.1e7)),
       predicted("other", 20, "shared", unknown)},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    CHECK_THAT(text_of_rows(c.first, c.other), !contains_text("cost"));
  }
}

TEST_CASE("the counters of the resource that bounds the slower variant are named",
          "[explanation]") {
  const Numbers few{{"l2_sectors", 1e6}, {"global_store_sectors_per_request", 4}};
  const Numbers many{{"l2_sectors", 5e6}, {"global_store_sectors_per_request", 32}};
  CHECK_THAT(
      text_of_rows(predicted("first", 40, "l2", many), predicted("other", 20, "latency", few)),
      contains_text(
          "(40.00 µs → 20.00 µs): 32 MB through L2 instead of 160 MB, 4 sectors per store"));
  const std::string waiting =
      text_of_rows(predicted("first", 40, "latency", many), predicted("other", 20, "l2", few));
  CHECK_THAT(waiting, contains_text("(40.00 µs → 20.00 µs). The prediction"));
  CHECK_THAT(waiting, !contains_text("sectors"));
  Measured declared = predicted("other", 20, "latency", few);
  declared.expected_changes = "l2_sectors decreases 2";
  const std::string once = text_of_rows(predicted("first", 40, "l2", many), declared);
  CHECK(once.find("through L2") == once.rfind("through L2"));
}

}  // namespace
}  // namespace gpuexp::test
