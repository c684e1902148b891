// Sources of explanations, and their text.
#include "render/explanation_text.hpp"

#include <cmath>
#include <limits>
#include <map>

#include "analysis/explanation.hpp"
#include "family/counters.hpp"
#include "render/explanation_json.hpp"
#include "render/page.hpp"
#include "support/catch.hpp"
#include "support/explained_rows.hpp"

namespace gpuexp::test {
namespace {

using namespace explained;

TEST_CASE("Rates are the report's measured ones, or else the datasheet's", "[explanation]") {
  Report report;
  report.provenance.device.sm_count = 132;
  report.provenance.device.compute_capability = "9.0";
  report.provenance.device.memory_bytes_per_s = 5e12;
  report.provenance.device.sm_clock_max_mhz = 1980;
  DeviceRates rates = device_rates(report);
  CHECK(*rates.ceilings.dram_read_bytes_per_s == 5e12);
  CHECK(*rates.ceilings.sm_clock_hz == Approx(1.98e9));
  CHECK(rates.sm_rates->issue == 4);
  CHECK(*rates.sm_count == 132);
  CeilingsProvenance ceilings;
  ceilings.values.push_back({"dram_read", "GB/s", 4500.0, {}, {}, {}, 5000.0});
  ceilings.values.push_back({"fp32", "TFLOP/s", {}, {}, {}, {}, 67.0});
  report.provenance.ceilings = ceilings;
  report.kernels.columns = {{"key", "", FieldType::text, ""}};
  report.kernels.rows = {{Field{std::string("a")}}, {Field{std::string("a")}}};
  rates = device_rates(report);
  CHECK(*rates.ceilings.dram_read_bytes_per_s == Approx(4.5e12));
  CHECK(*rates.ceilings.ops_per_s[static_cast<std::size_t>(Pipe::fp32)] == Approx(67e12));
  CHECK(rates.kernels.at("a") == 2);
  report.provenance.device.compute_capability = "of tomorrow.";
  CHECK_FALSE(device_rates(report).sm_rates);
}

TEST_CASE("Without counters, the text has only the factor and how to get counters",
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

TEST_CASE("Counters of one group do not determine the bound", "[explanation]") {
  const Numbers memory{{"dram_read_bytes", 8e8}, {"dram_write_bytes", 0}};
  const auto r =
      read({{"first", 1000, memory}, {"fast", 100, with(memory, "dram_read_bytes", 8e7)}});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.counted);
  CHECK_FALSE(e.bound.has_value());
  CHECK(e.confidence == Confidence::none);
  CHECK_THAT(r->text(), contains_text("do not determine the binding resource"));
}

TEST_CASE("With an unknown bandwidth the bound is unknown", "[explanation]") {
  DeviceRates unknown = device();
  unknown.ceilings.dram_read_bytes_per_s.reset();
  const auto r = read({{"first", 1000, reading(8e8, 32)}, {"fast", 100, reading(8e7, 4)}}, unknown);
  CHECK_FALSE(r->explanations.at(0).accounted.has_value());
}

TEST_CASE("NaN and infinite numbers count as missing", "[explanation]") {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  Numbers broken = reading(8e8, 32);
  for (auto& [name, value] : broken)
    value = name == "warp_instructions" ? inf : nan;
  const auto r =
      read({{"first", 1000, reading(8e8, 32)}, {"fast", 100, broken, "l2_sectors decreases 2"}});
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

TEST_CASE("Equal times are reported as no difference", "[explanation]") {
  const std::string stays =
      "global_load_sectors_per_request unchanged 1.05;dram_read_bytes unchanged 1.05";
  const auto same =
      read({{"first", 100, reading(8e7, 4)}, {"reversed", 101, reading(8e7, 4), stays}});
  CHECK_FALSE(same->explanations.at(0).differs);
  CHECK(same->text() ==
        "no difference between reversed and first (100.0 µs → 101.0 µs): 4 sectors per load "
        "request and 80 MB read from DRAM in both. At the device's rates reversed needs DRAM most: "
        "80 "
        "MB take 80.00 µs of 101.0 µs; first is bound by DRAM: 80 MB take 80.00 µs of 100.0 µs.");
  const auto moved = read(
      {{"first", 100, reading(8e7, 4)},
       {"misaligned", 100.5, reading(8e7, 5), "global_load_sectors_per_request increases 1.2"}});
  CHECK_THAT(moved->text(), contains_text(", although 5 sectors per load request instead of 4."));
  Measured loose{"loose", 90, reading(8e7, 4)};
  loose.half_interval = 0.2;
  CHECK_FALSE(read({{"first", 100, reading(8e7, 4)}, loose})->explanations.at(0).differs);
}

TEST_CASE("Expected changes that did not occur are named", "[explanation]") {
  const auto r =
      read({{"first", 1000, reading(8e8, 32)},
            {"fast", 125, reading(1e8, 32),
             "global_load_sectors_per_request decreases 4;dram_read_bytes decreases 4"}});
  REQUIRE(r->explanations.at(0).not_seen.size() == 1);
  CHECK_THAT(r->text(),
             contains_text("Expected counter changes not seen: global_load_sectors_per_request "
                           "decreases."));
}

TEST_CASE("Without expected changes, the longest resource's amount is named", "[explanation]") {
  const auto r = read({{"first", 1000, with(reading(8e8, 32), "alu_instructions", 6e7)},
                       {"vendor", 125, with(reading(1e8, 4), "alu_instructions", 1e6)}});
  const auto& changes = r->explanations.at(0).changes;
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].counter == "dram_read_bytes");
}

TEST_CASE("Expected changes other than the cause are not named", "[explanation]") {
  const auto r = read({{"first", 1000, with(reading(8e8, 32), "branch_instructions", 9e5)},
                       {"fast", 125, with(reading(1e8, 4), "branch_instructions", 1e3),
                        "branch_instructions decreases 4;dram_read_bytes decreases 4"}});
  const Explanation& e = r->explanations.at(0);
  REQUIRE(e.others.size() == 1);
  CHECK(e.others[0].counter == "branch_instructions");
  CHECK_THAT(r->text(), !contains_text("branches"));
  CHECK_THAT(r->text(), contains_text("): 100 MB read from DRAM instead of 800 MB."));
}

TEST_CASE("Only timed rows of one problem are compared", "[explanation]") {
  Measured wrong{"wrong", 100, reading(8e7, 4)};
  wrong.status = "incorrect";
  Measured elsewhere{"elsewhere", 100, reading(8e7, 4)};
  elsewhere.n = 2048;
  CHECK(read({{"first", 1000, reading(8e8, 32)}, wrong, elsewhere})->explanations.empty());
}

TEST_CASE("The problem with the longest time is explained, or all problems", "[explanation]") {
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
  CHECK(read(rows, device(), true)->explanations.size() == 3);
}

TEST_CASE("Predictions name the limit that a variant has reached", "[explanation]") {
  Measured fast{"fast", 125, reading(1e8, 4)};
  fast.limit_by = "dram";
  Table table = table_of({{"first", 1000, reading(8e8, 32)}, fast});
  const auto text = [&] {
    const RecordTable records = record_table(table);
    const auto experiments = experiments_of(records);
    return text_of(experiments[0], explanations_of(experiments[0], {device(), false}).at(0));
  };
  const auto add = [&](const char* name, FieldType type, const Field& value) {
    table.columns.push_back({name, "", type, ""});
    for (auto& row : table.rows)
      row.push_back(value);
  };
  add("limit_pct", FieldType::real, 80.0);
  CHECK_THAT(text(), contains_text("; now at 80 % of the dram limit."));
  add("measured_limit_pct", FieldType::real, 91.0);
  CHECK_THAT(text(), contains_text("; now at 91 % of the limit that this device was measured to "
                                   "allow."));
}

TEST_CASE("Every counter has a description, and values have prefixes", "[explanation]") {
  for (const Counter& c : kCounters) {
    const std::string fragment = change_fragment({std::string(c.id), 2, 1});
    INFO(fragment);
    CHECK(fragment.find(c.id) == std::string::npos);
  }
  CHECK(change_fragment({"l2_sectors", 1e9, 3.3e7}) == "1.06 GB through L2 instead of 32 GB");
  CHECK(change_fragment({"dram_read_bytes", 999.4, 999600}) ==
        "1 MB read from DRAM instead of 999 B");
  CHECK(change_fragment({"shared_bank_conflicts", 75.9e6, 0}) ==
        "no bank conflicts instead of 75.9 M");
  CHECK(change_fragment({"tensor_active_pct", 0, 81.7}) ==
        "82 % of the tensor pipe busy instead of none");
  CHECK(change_fragment({"l2_atomic_cycles", 3.36e7, 8190}) ==
        "8.19 k cycles of L2's atomic units instead of 33.6 M");
  CHECK(change_fragment({"of_tomorrow", 2, 1}) == "1 of_tomorrow instead of 2");
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

TEST_CASE("Views show explanations if there are counters", "[explanation]") {
  const Table counted =
      table_of({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(1e8, 4)}});
  CHECK(views_of(record_table(counted), device()).at(0).explanations.size() == 1);
  const Table timed = table_of({{"first", 1000}, {"fast", 125}});
  CHECK(views_of(record_table(timed), device()).at(0).explanations.empty());
}

TEST_CASE("JSON explanations have null for unknown values", "[explanation]") {
  const auto r =
      read({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(1e8, 4)}, {"uncounted", 100}});
  const std::string json =
      to_json("results.json", std::nullopt, {{r->experiments[0], r->explanations}});
  CHECK_THAT(json, contains_text("\"device\": null"));
  CHECK_THAT(json, contains_text("\"confidence\": \"high\""));
  CHECK_THAT(json, contains_text("\"accounted_factor\": null"));
  CHECK_THAT(json, contains_text("\"cause\": \"amounts\""));
  CHECK_THAT(json, contains_text("\"resource\": \"dram\""));
  CHECK_THAT(json, contains_text("\"misfit\": null"));
  CHECK_THAT(json, contains_text("\"n\": 1024"));
}

}  // namespace
}  // namespace gpuexp::test
