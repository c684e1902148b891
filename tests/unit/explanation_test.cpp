// Explanations from small tables: what they say, and what they must not.
#include "analysis/explanation.hpp"

#include <cmath>
#include <limits>
#include <map>

#include "family/counters.hpp"
#include "record/columns.hpp"
#include "render/explanation_json.hpp"
#include "render/explanation_text.hpp"
#include "render/page.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Numbers = std::map<std::string, double>;

struct Measured {
  std::string variant;
  double time_us;
  Numbers counters = {};
  std::string moves = {};
  std::string status = "passed";
  std::int64_t n = 1024;
  double half_interval = 0.005;  ///< relative
  std::string flags = {};
  double predicted_us = 0;  ///< 0: none
};

/// A device of 1 TB/s.
constexpr double kBytesPerSecond = 1e12;

/// Rows of one experiment, in which everything but `first` is compared to it.
Table table_of(const std::vector<Measured>& rows) {
  constexpr FieldType kText = FieldType::text;
  constexpr FieldType kReal = FieldType::real;
  Table table;
  table.columns = {{"experiment", "", kText, ""},
                   {"family", "", kText, ""},
                   {"variant", "", kText, ""},
                   {"mode", "", kText, ""},
                   {"status", "", kText, ""},
                   {"flags", "", kText, ""},
                   {"time_median_us", "us", kReal, ""},
                   {"time_ci95_low_us", "us", kReal, ""},
                   {"time_ci95_high_us", "us", kReal, ""},
                   {kCompareToColumn, "", kText, ""},
                   {kMovesColumn, "", kText, ""},
                   {"predicted_time_us", "us", kReal, ""},
                   {"param.n", "", FieldType::integer, ""}};
  for (const Counter& c : kCounters)
    table.columns.push_back({"counter." + std::string(c.id), "", kReal, ""});
  const auto text = [](const std::string& value) { return value.empty() ? Field{} : Field{value}; };
  for (const Measured& m : rows) {
    std::vector<Field>& row = table.rows.emplace_back();
    row = {"reads",
           "toy",
           m.variant,
           "cold",
           m.status,
           text(m.flags),
           m.time_us,
           m.time_us * (1 - m.half_interval),
           m.time_us * (1 + m.half_interval),
           text(m.variant == "first" ? "" : "first"),
           text(m.moves),
           m.predicted_us > 0 ? Field{m.predicted_us} : Field{},
           m.n};
    for (const Counter& c : kCounters) {
      const auto found = m.counters.find(std::string(c.id));
      row.push_back(found == m.counters.end() ? Field{} : Field{found->second});
    }
  }
  return table;
}

/// Counters of a kernel that keeps nothing busy but DRAM with `bytes`, of `sectors` per request.
Numbers reading(double bytes, double sectors) {
  return {{"dram_read_bytes", bytes},
          {"dram_write_bytes", 0},
          {"l1_wavefronts", 1e4},
          {"warp_instructions", 1e6},
          {"issue_active_pct", 10},
          {"tensor_active_pct", 0},
          {"global_load_sectors_per_request", sectors},
          {"stalled_long_scoreboard", 40},
          {"stalled_barrier", 2}};
}

Numbers with(Numbers numbers, const std::string& counter, double value) {
  numbers[counter] = value;
  return numbers;
}

struct Read {
  Table table;
  std::vector<ExperimentResults> experiments;
  std::vector<Explanation> explanations;

  std::string text(std::size_t i = 0) const {
    return text_of(experiments.at(0), explanations.at(i));
  }
};

std::unique_ptr<Read> read(const std::vector<Measured>& rows,
                           std::optional<double> bytes_per_s = kBytesPerSecond,
                           bool all_problems = false) {
  auto read = std::make_unique<Read>();
  read->table = table_of(rows);
  read->experiments = experiments_of(read->table);
  read->explanations = explanations_of(read->experiments.at(0), {bytes_per_s, all_problems});
  return read;
}

TEST_CASE("A difference that the bytes account for is explained", "[explanation]") {
  // 800 MB in 1000 µs are 80 % of 1 TB/s; 100 MB in 125 µs likewise.
  const auto r = read({{"first", 1000, reading(8e8, 32)},
                       {"coalesced", 125, reading(1e8, 4),
                        "global_load_sectors_per_request falls 4;dram_read_bytes falls 4"}});
  REQUIRE(r->explanations.size() == 1);
  const Explanation& e = r->explanations[0];
  CHECK(e.factor == Approx(8));
  CHECK(e.differs);
  REQUIRE(e.accounted);
  CHECK(*e.accounted == Approx(8));
  CHECK(e.confidence == Confidence::high);
  CHECK(r->text() ==
        "coalesced is 8× (7.94 to 8.06) as fast as first (1.000 ms → 125.0 µs): 4 sectors per load "
        "request instead of 32, 100 MB read from DRAM instead of 800 MB. first keeps DRAM 80 % "
        "busy, coalesced 80 %. The counters alone give 8×: high confidence.");
}

TEST_CASE("A slower variant is explained the other way round", "[explanation]") {
  const auto r =
      read({{"first", 125, reading(1e8, 4)},
            {"strided", 1000, reading(9e8, 32), "global_load_sectors_per_request rises 4"}});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.factor == Approx(0.125));
  CHECK(*e.accounted == Approx(1.0 / 9));
  CHECK(e.confidence == Confidence::high);
  CHECK_THAT(r->text(), contains_text("strided takes 8× (7.94 to 8.06) as long as first"));
  CHECK_THAT(r->text(), contains_text("The counters alone give 9×: high confidence."));
}

TEST_CASE("Confidence falls as the factors part, and ends at 1.5", "[explanation]") {
  const auto confidence = [](double bytes_of_fast) {
    return read({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(bytes_of_fast, 4)}})
        ->explanations.at(0)
        .confidence;
  };
  CHECK(confidence(1.0e8) == Confidence::high);
  CHECK(confidence(0.88e8) == Confidence::high);
  CHECK(confidence(0.86e8) == Confidence::medium);
  CHECK(confidence(1.16e8) == Confidence::medium);
  CHECK(confidence(0.68e8) == Confidence::medium);
  CHECK(confidence(0.66e8) == Confidence::none);
}

TEST_CASE("Counters that did not move explain nothing, near as the factors may be",
          "[explanation]") {
  // 1.12 is within 15 % of 1, and yet all of the difference is left.
  const auto r = read({{"first", 112, reading(8e7, 4)},
                       {"wide", 100, reading(8e7, 8), "dram_read_bytes stays 1.05"}});
  CHECK(r->explanations.at(0).differs);
  CHECK(r->explanations.at(0).confidence == Confidence::none);
  CHECK_THAT(r->text(),
             contains_text("The counters alone give 1×: they do not explain this difference."));
}

TEST_CASE("What counters do not explain, the prediction may", "[explanation]") {
  Measured first{"first", 112, reading(8e7, 4)};
  Measured wide{"wide", 100, reading(8e7, 8)};
  first.predicted_us = 90;
  wide.predicted_us = 75;
  const auto r = read({first, wide});
  CHECK(*r->explanations.at(0).predicted == Approx(1.2));
  CHECK_THAT(r->text(),
             contains_text("difference; predict, which knows latencies too, gives 1.2×."));
  CHECK_FALSE(read({first, {"wide", 100}})->explanations.at(0).predicted.has_value());
  Measured last{"last", 112, reading(8e7, 4)};
  last.predicted_us = 90;
  Measured base{"first", 100, reading(8e7, 8)};
  base.predicted_us = 75;
  CHECK_THAT(read({base, last})->text(), contains_text("too, gives 1.2×."));
}

TEST_CASE("Counters that moved far more than the time explain nothing", "[explanation]") {
  const auto r = read({{"first", 104, reading(8.8e7, 4)}, {"fast", 100, reading(7.6e7, 4)}});
  CHECK(*r->explanations.at(0).accounted == Approx(8.8 / 7.6));
  CHECK(r->explanations.at(0).confidence == Confidence::none);
}

TEST_CASE("SMs that were left idle are named", "[explanation]") {
  const auto r = read({{"first", 100, with(reading(8e7, 4), "sm_active_pct", 96)},
                       {"coarse", 200, with(reading(8e7, 4), "sm_active_pct", 48)}});
  CHECK_THAT(r->text(), contains_text("48 % of the SMs' cycles with a warp instead of 96 %"));
}

TEST_CASE("Counters that moved the other way explain nothing", "[explanation]") {
  const auto r = read({{"first", 100, reading(7e7, 4)}, {"more", 90, reading(8e7, 4)}});
  CHECK(r->explanations.at(0).confidence == Confidence::none);
}

TEST_CASE("What idles on both sides binds neither", "[explanation]") {
  const auto r = read({{"first", 1000, reading(4e8, 32)}, {"fast", 500, reading(2e8, 32)}});
  CHECK(*r->explanations.at(0).accounted == Approx(2));
  CHECK(r->explanations.at(0).confidence == Confidence::none);
  CHECK_THAT(r->text(), contains_text("; no resource that was counted binds first, and its warps "
                                      "wait most for L1, L2 or DRAM."));
}

TEST_CASE("The launch itself is named where it is much of the time", "[explanation]") {
  Measured fast{"fast", 3, reading(1e4, 4)};
  fast.flags = "few_samples;near_floor";
  const auto r = read({{"first", 4, reading(1e4, 4)}, fast});
  CHECK_THAT(r->text(), contains_text("do not explain this difference, and much of these times is "
                                      "the launch itself."));
}

TEST_CASE("L1, issue slots and the tensor pipe are busy by cycles", "[explanation]") {
  // 1e6 instructions in 80 % of the slots of 4 schedulers are 312500 cycles of an SM.
  const Numbers issuing = with(with(reading(1e6, 4), "issue_active_pct", 80), "l1_wavefronts", 1e5);
  const auto r =
      read({{"first", 100, issuing},
            {"staging", 200, with(with(issuing, "l1_wavefronts", 3e5), "tensor_active_pct", 90)}});
  const auto busy = busy_of(r->experiments[0].rows[0], kBytesPerSecond);
  REQUIRE(busy.size() == 4);
  CHECK(busy[1].resource == Resource::l1);
  CHECK(busy[1].share_pct == Approx(32));
  CHECK(busy[2].share_pct == 80);
  const Explanation& e = r->explanations.at(0);
  CHECK(e.reference_busiest->resource == Resource::issue);
  CHECK(e.busiest->resource == Resource::l1);
  CHECK_THAT(r->text(), contains_text("first keeps the issue slots 80 % busy, staging L1's data "
                                      "stage 96 % busy."));
}

TEST_CASE("Without counters the factor stands alone, and says where they come from",
          "[explanation]") {
  const auto r = read({{"first", 1000}, {"fast", 100}});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.differs);
  CHECK_FALSE(e.counted);
  CHECK_FALSE(e.accounted.has_value());
  CHECK(r->text() ==
        "fast is 10× (9.93 to 10.1) as fast as first (1.000 ms → 100.0 µs). Counters would say "
        "why: run --counters.");
  CHECK_FALSE(read({{"first", 1000, reading(8e8, 32)}, {"fast", 100}})->explanations[0].counted);
}

TEST_CASE("Counters of one group do not say what binds", "[explanation]") {
  const Numbers memory{{"dram_read_bytes", 8e8}, {"dram_write_bytes", 0}};
  const auto r =
      read({{"first", 1000, memory}, {"fast", 100, with(memory, "dram_read_bytes", 8e7)}});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.counted);
  CHECK_FALSE(e.busiest.has_value());
  CHECK(e.confidence == Confidence::none);
  CHECK_THAT(r->text(), contains_text("80 MB read from DRAM instead of 800 MB"));
  CHECK_THAT(r->text(), contains_text("does not say what binds"));
}

TEST_CASE("An unknown bandwidth leaves open what binds", "[explanation]") {
  const auto r =
      read({{"first", 1000, reading(8e8, 32)}, {"fast", 100, reading(8e7, 4)}}, std::nullopt);
  CHECK_FALSE(r->explanations.at(0).accounted.has_value());
}

TEST_CASE("Numbers that are none are missing ones", "[explanation]") {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  Numbers broken = reading(8e8, 32);
  for (auto& [name, value] : broken)
    value = name == "warp_instructions" ? inf : nan;
  const auto r =
      read({{"first", 1000, reading(8e8, 32)}, {"fast", 100, broken, "l2_sectors falls 2"}});
  CHECK_FALSE(r->explanations.at(0).counted);
  CHECK(r->explanations.at(0).changes.empty());
  CHECK(read({{"first", 1000, reading(8e8, 32)}, {"fast", nan, reading(8e7, 4)}})
            ->explanations.empty());
  Numbers idle = reading(0, 0);
  for (auto& [name, value] : idle)
    value = 0;
  const auto zero = read({{"first", 1000, idle}, {"fast", 100, idle}});
  CHECK(zero->explanations.at(0).confidence == Confidence::none);
  CHECK_FALSE(zero->explanations.at(0).accounted.has_value());
}

TEST_CASE("No difference is said to be none", "[explanation]") {
  const std::string stays = "global_load_sectors_per_request stays 1.05;dram_read_bytes stays 1.05";
  const auto same =
      read({{"first", 100, reading(8e7, 4)}, {"reversed", 101, reading(8e7, 4), stays}});
  CHECK_FALSE(same->explanations.at(0).differs);
  CHECK(same->text() ==
        "no difference between reversed and first (100.0 µs → 101.0 µs): 4 sectors per load "
        "request and 80 MB read from DRAM in both. first keeps DRAM 80 % busy, reversed 79 %.");
  const auto moved =
      read({{"first", 100, reading(8e7, 4)},
            {"misaligned", 100.5, reading(8e7, 5), "global_load_sectors_per_request rises 1.2"}});
  CHECK_THAT(moved->text(), contains_text(", although 5 sectors per load request instead of 4."));
  Measured loose{"loose", 90, reading(8e7, 4)};
  loose.half_interval = 0.2;
  CHECK_FALSE(read({{"first", 100, reading(8e7, 4)}, loose})->explanations.at(0).differs);
}

TEST_CASE("What was declared and did not come is named", "[explanation]") {
  const auto r = read({{"first", 1000, reading(8e8, 32)},
                       {"fast", 125, reading(1e8, 32),
                        "global_load_sectors_per_request falls 4;dram_read_bytes falls 4"}});
  REQUIRE(r->explanations.at(0).not_seen.size() == 1);
  CHECK_THAT(r->text(),
             contains_text("Declared, and not seen: global_load_sectors_per_request falls."));
}

TEST_CASE("Where nothing was declared, what moved most is named", "[explanation]") {
  const auto r = read({{"first", 1000, with(reading(8e8, 32), "l2_sectors", 6e7)},
                       {"vendor", 125, with(reading(1e8, 4), "l2_sectors", 1e6)}});
  const auto& changes = r->explanations.at(0).changes;
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].counter == "dram_read_bytes");  // what DRAM is busy with
  CHECK(changes[1].counter == "l2_sectors");
  CHECK(changes[2].counter == "global_load_sectors_per_request");
}

TEST_CASE("Only rows that were timed side by side are compared", "[explanation]") {
  Measured wrong{"wrong", 100, reading(8e7, 4)};
  wrong.status = "incorrect";
  Measured elsewhere{"elsewhere", 100, reading(8e7, 4)};
  elsewhere.n = 2048;
  CHECK(read({{"first", 1000, reading(8e8, 32)}, wrong, elsewhere})->explanations.empty());
}

TEST_CASE("Of each variant the problem that takes longest is explained, or all are",
          "[explanation]") {
  std::vector<Measured> rows;
  for (const std::int64_t n : {512, 2048, 1024}) {
    const auto scale = static_cast<double>(n);
    rows.push_back({"first", scale, reading(8e5 * scale, 32)});
    rows.back().n = n;
    rows.push_back({"fast", scale / 8, reading(1e5 * scale, 4)});
    rows.back().n = n;
  }
  const auto longest = read(rows);
  REQUIRE(longest->explanations.size() == 1);
  CHECK_THAT(longest->text(), contains_text("at n = 2048, fast is 8×"));
  CHECK(read(rows, kBytesPerSecond, true)->explanations.size() == 3);
}

TEST_CASE("Predictions say where a variant stands now", "[explanation]") {
  Table table = table_of({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(1e8, 4)}});
  const auto text = [&] {
    const auto experiments = experiments_of(table);
    return text_of(experiments[0], explanations_of(experiments[0], {kBytesPerSecond, false}).at(0));
  };
  const auto add = [&](const char* name, FieldType type, const Field& value) {
    table.columns.push_back({name, "", type, ""});
    for (auto& row : table.rows)
      row.push_back(value);
  };
  add("limit_by", FieldType::text, "dram");
  add("limit_pct", FieldType::real, 80.0);
  CHECK_THAT(text(), contains_text("; now at 80 % of the dram limit."));
  add("bound_by", FieldType::text, "dram");
  add("measured_limit_pct", FieldType::real, 91.0);
  CHECK_THAT(text(), contains_text("; now at 91 % of the limit that this device was measured to "
                                   "allow, bound by dram."));
}

TEST_CASE("Every counter has words, and values their prefixes", "[explanation]") {
  for (const Counter& c : kCounters) {
    const std::string phrase = change_phrase({std::string(c.id), 2, 1});
    INFO(phrase);
    CHECK(phrase.find(c.id) == std::string::npos);
  }
  CHECK(change_phrase({"l2_sectors", 1e9, 3.3e7}) == "1.06 GB through L2 instead of 32 GB");
  CHECK(change_phrase({"dram_read_bytes", 999.4, 999600}) ==
        "1 MB read from DRAM instead of 999 B");
  CHECK(change_phrase({"shared_bank_conflicts", 75.9e6, 0}) ==
        "no bank conflicts instead of 75.9 M");
  CHECK(change_phrase({"tensor_active_pct", 0, 81.7}) ==
        "82 % of the tensor pipe busy instead of none");
  CHECK(change_phrase({"of_tomorrow", 2, 1}) == "1 of_tomorrow instead of 2");
}

TEST_CASE("Explanations are summed up", "[explanation]") {
  CHECK(summary_of(std::vector<Explanation>{}) == "0 comparisons");
  const auto r = read({{"first", 1000, reading(8e8, 32)},
                       {"explained", 125, reading(1e8, 4)},
                       {"unexplained", 100, reading(8e8, 4)},
                       {"uncounted", 100},
                       {"same", 1000, reading(8e8, 32)}});
  CHECK(summary_of(r->explanations) ==
        "4 comparisons: 1 explained with high confidence, 1 not explained, 1 without counters, 1 "
        "without a difference");
}

TEST_CASE("Views show explanations where there are counters", "[explanation]") {
  const Table counted =
      table_of({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(1e8, 4)}});
  CHECK(views_of(counted, kBytesPerSecond).at(0).explanations.size() == 1);
  const Table timed = table_of({{"first", 1000}, {"fast", 125}});
  CHECK(views_of(timed, kBytesPerSecond).at(0).explanations.empty());
}

TEST_CASE("Explanations as JSON have null for what is not known", "[explanation]") {
  const auto r =
      read({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(1e8, 4)}, {"uncounted", 100}});
  const std::string json =
      to_json("results.json", std::nullopt, {{r->experiments[0], r->explanations}});
  CHECK_THAT(json, contains_text("\"device\": null"));
  CHECK_THAT(json, contains_text("\"confidence\": \"high\""));
  CHECK_THAT(json, contains_text("\"accounted_factor\": null"));
  CHECK_THAT(json, contains_text("\"n\": 1024"));
}

}  // namespace
}  // namespace gpuexp::test
