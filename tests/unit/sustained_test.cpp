// SM clocks of rows, and times of longer runs.
#include <algorithm>
#include <cmath>

#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

bool has_flag(const Row& row, const char* flag) {
  return std::count(row.flags.begin(), row.flags.end(), flag) == 1;
}

/// Each sample fills its own slice; the n-th reading follows the n-th sample.
void let_slices_pass(ToyRun& b, const std::function<double(const std::string&, int)>& time_us) {
  b.executor.time_us = [&b, time_us](const std::string& variant, int n) {
    b.clock_s += 0.02;
    return time_us(variant, n);
  };
}

TEST_CASE("a clock reading of a mostly idle GPU is ignored and drops no sample") {
  ToyRun b({"first"});
  b.device.sm_clock_max_mhz = 2000;
  let_slices_pass(b, [](const std::string&, int) { return 10.0; });
  SECTION("a low clock while idle") {
    b.executor.clock = [](int n) {
      return n < 3 ? ClockReading{900, 0.2} : ClockReading{1990, 0.9};
    };
    const Row row = b.run()[0];
    CHECK(row.samples_us.size() == 20);
    CHECK(row.clocks->min_mhz == 1990);
    CHECK(row.clocks->max_mhz == 1990);
    CHECK(!has_flag(row, "clock_drift"));
    CHECK(!has_flag(row, "clock_low"));
  }
  SECTION("a high clock while idle: readings under load are not outliers") {
    b.experiment().measure.burst_check_seconds = 0;
    b.executor.clock = [](int n) {
      return n == 0 ? ClockReading{1980, 0.3} : ClockReading{1700, 0.95};
    };
    const Row row = b.run()[0];
    CHECK(row.samples_us.size() == 20);
    CHECK(b.executor.samples_of("first") == 20);
    CHECK(row.clocks->max_mhz == 1700);
    CHECK(has_flag(row, "clock_low"));
    CHECK(!has_flag(row, "clock_drift"));
  }
  SECTION("only idle readings") {
    b.executor.clock = [](int) { return ClockReading{900, 0.49}; };
    const Row row = b.run()[0];
    CHECK(row.samples_us.size() == 20);
    CHECK(!row.clocks.has_value());
    CHECK(!has_flag(row, "clock_low"));
  }
}

TEST_CASE("the next reading covers a stretch that was too short to read") {
  ToyRun b({"first"});
  b.experiment().measure.max_samples = 20;
  let_slices_pass(b, [](const std::string&, int) { return 10.0; });
  b.executor.clock = [](int n) -> std::optional<ClockReading> {
    if (n < 10) return std::nullopt;
    return ClockReading{n == 10 ? 1500.0 : 1600.0, 1};
  };
  const Row row = b.run()[0];
  CHECK(row.clocks->median_mhz == 1500);  // covers 11 samples, the other reading 9
  CHECK(row.clocks->max_mhz == 1600);
}

TEST_CASE("a clock that drops under load flags the slowed rows and drops no sample") {
  ToyRun b({"first", "second"});
  b.experiment().measure.min_samples = 40;
  b.experiment().measure.max_samples = 40;
  b.device.sm_clock_max_mhz = 2000;
  const auto is_late = [](int n) { return n >= 20; };
  // Each slice has one round.
  b.executor.clock = [&](int n) { return ClockReading{is_late(n) ? 1500.0 : 1980.0, 1}; };
  SECTION("the compute-bound row, not the memory-bound one") {
    let_slices_pass(b, [&](const std::string& variant, int n) {
      return variant == "first" && is_late(n) ? 13.2 : 10.0;
    });
    const auto rows = b.run();
    CHECK(rows[0].samples_us.size() == rows[1].samples_us.size());
    CHECK(std::count(rows[0].samples_us.begin(), rows[0].samples_us.end(), 13.2) == 20);
    CHECK(has_flag(rows[0], "clock_drift"));
    CHECK(!has_flag(rows[1], "clock_drift"));
    CHECK(rows[0].clocks->min_mhz == 1500);
    CHECK(rows[0].clocks->max_mhz == 1980);
  }
  SECTION("not a row that varies from sample to sample") {
    b.executor.clock = [](int n) { return ClockReading{n % 2 == 0 ? 1980.0 : 1900.0, 1}; };
    let_slices_pass(b, [](const std::string&, int n) { return n % 2 == 0 ? 10.0 : 10.4; });
    for (const Row& row : b.run()) {
      CHECK(row.clocks->max_mhz - row.clocks->min_mhz == 80);
      CHECK(!has_flag(row, "clock_drift"));
    }
  }
  SECTION("a stable clock flags no row") {
    b.executor.clock = [](int) { return ClockReading{1980, 1}; };
    let_slices_pass(b, [](const std::string&, int) { return 10.0; });
    for (const Row& row : b.run()) {
      CHECK(!has_flag(row, "clock_drift"));
      CHECK(!has_flag(row, "clock_low"));
    }
  }
}

TEST_CASE("a long sample has its own clock") {
  ToyRun b({"first", "second"});
  b.executor.sample_clock_mhz = [](const std::string& variant, int n) -> std::optional<double> {
    if (variant == "first") return std::nullopt;
    return 1500.0 + n % 3;
  };
  const auto rows = b.run();
  CHECK(rows[0].clocks->median_mhz == 1000);
  CHECK(rows[1].clocks->min_mhz == 1500);
  CHECK(rows[1].clocks->median_mhz == 1501);
  CHECK(rows[1].clocks->max_mhz == 1502);
}

TEST_CASE("a group runs back to back before its samples on request") {
  ToyRun b({"first", "second"});
  SECTION("not by default") {
    b.run();
    CHECK(b.executor.sustained_s == 0);
  }
  SECTION("once") {
    b.experiment().measure.sustain_seconds = 1.5;
    b.run();
    CHECK(std::abs(b.executor.sustained_s - 1.5) < 1e-9);
    const auto& calls = b.executor.calls;
    const auto sustained = std::find(calls.begin(), calls.end(), "sustain first second cold");
    REQUIRE(sustained != calls.end());
    CHECK(std::find(calls.begin(), sustained, "warm_up second cold 3") != sustained);
    CHECK(std::find(calls.begin(), sustained, "sample first") == sustained);
  }
}

TEST_CASE("a group near the power cap is checked for a longer run") {
  ToyRun b({"first", "second"});
  b.device.sm_clock_max_mhz = 2000;
  b.executor.clock = [](int) { return ClockReading{1700, 1}; };
  double slower = 1;
  b.executor.time_us = [&](const std::string& variant, int) {
    return variant == "first" && b.executor.sustained_s > 0 ? 10 * slower : 10.0;
  };
  SECTION("after all timing, when the log has the row") {
    struct Order : RunObserver {
      std::vector<std::string> events;
      void row_timed(const Row& row) override {
        events.push_back("timed " + row.cell->variant->id);
      }
      void row_finished(const Row& row) override {
        events.push_back("finished " + row.cell->variant->id);
      }
      void sustained(const Cell& cell, const std::vector<double>& samples_us) override {
        events.push_back(cell.variant->id + " " + std::to_string(samples_us.size()));
      }
    } order;
    b.sweep({Value{std::int64_t{64}}, Value{std::int64_t{128}}});
    b.experiment().variants.resize(1);
    b.plan = make_plan(b.config, b.device, b.resources, b.device.memory_bytes);
    run_plan(b.plan, b.resources, b.executor, b.tracer, order, b.options);
    CHECK(order.events == std::vector<std::string>{"timed first", "timed first", "first 10",
                                                   "finished first", "first 10", "finished first"});
  }
  SECTION("a fault loses only the check") {
    b.executor.fault = [](const std::string& call) {
      if (call.rfind("sustain", 0) == 0) throw DeviceError("no power", DeviceFault::refused);
    };
    const Row row = b.run()[0];
    CHECK(row.status == Status::passed);
    CHECK(!row.sustained.has_value());
    CHECK(!has_flag(row, "burst"));
  }
  SECTION("only a row that slows down is flagged, and its samples stay unchanged") {
    slower = 1.2;
    const auto rows = b.run();
    CHECK(has_flag(rows[0], "burst"));
    CHECK(!has_flag(rows[1], "burst"));
    CHECK(rows[0].time_us->max == 10);
    CHECK(rows[0].sustained->time_us.median == 12);
    CHECK(rows[0].sustained->sm_clock_mhz == 1700);
    CHECK(b.executor.sustained_s == Approx(b.experiment().measure.burst_check_seconds));
  }
  SECTION("a row that does not slow down is not flagged") {
    const auto rows = b.run();
    CHECK(!has_flag(rows[0], "burst"));
    CHECK(rows[0].sustained->time_us.median == 10);
  }
  SECTION("not far below the power cap") {
    b.executor.clock = [](int) { return ClockReading{1990, 1}; };
    CHECK(!b.run()[0].sustained.has_value());
    CHECK(b.executor.sustained_s == 0);
  }
  SECTION("the driver's readings suffice") {
    b.executor.clock = [](int) { return ClockReading{1990, 1}; };
    Telemetry telemetry;
    SECTION("a reason") {
      telemetry.clock_reasons = {"sw_power_cap"};
    }
    SECTION("power") {
      telemetry.power_w = 650;
      telemetry.power_limit_w = 700;
    }
    b.options.telemetry = [&](double, double) { return telemetry; };
    CHECK(b.run()[0].sustained->power_w == telemetry.power_w);
  }
  SECTION("not if disabled, nor after an equally long run") {
    SECTION("0") {
      b.experiment().measure.burst_check_seconds = 0;
    }
    SECTION("sustained") {
      b.experiment().measure.sustain_seconds = 0.5;
    }
    CHECK(!b.run()[0].sustained.has_value());
  }
}

}  // namespace
}  // namespace gpuexp::test
