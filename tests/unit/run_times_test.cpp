#include "record/run_times.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "render/run_times_view.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "results/run_log_read.hpp"
#include "results/run_log_write.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/small_report.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

/// Records the times and rows that a run reports.
struct TimesObserver : RunObserver {
  std::map<const Group*, std::pair<double, RunTimes>> groups;
  RunTimes run;
  std::vector<std::string> events;

  void row_timed(const Row& row) override { events.push_back("timed " + row.cell->variant->id); }
  void row_finished(const Row& row) override {
    events.push_back("finished " + row.cell->variant->id + " " + row.prediction->why_no_time);
  }
  void waiting_for_predictions(std::size_t rows) override {
    events.push_back("waiting " + std::to_string(rows));
  }
  void group_timed(const Group& group, double began_s, const RunTimes& times) override {
    groups[&group] = {began_s, times};
  }
  void run_ended(const RunTimes& times) override { run = times; }
};

/// A run in which each kind of call takes a distinct time.
struct TimedToyRun : ToyRun {
  TimesObserver times;

  explicit TimedToyRun(const std::vector<std::string>& variants) : ToyRun(variants) {
    sweep({Value{std::int64_t{1024}}, Value{std::int64_t{2048}}});
    experiment().measure.target_relative_ci = 0;
    experiment().measure.max_samples = 10;
    experiment().measure.max_seconds = 1e9;
    executor.fault = [this](const std::string& call) {
      const std::map<std::string, double> seconds = {
          {"set_up", 1},    {"poison", 10},  {"launch", 100}, {"check", 1000},
          {"warm_up", 1e4}, {"sample", 1e5}, {"count", 1e7},  {"floor", 1e9}};
      const auto found = seconds.find(call.substr(0, call.find(' ')));
      if (found != seconds.end()) clock_s += found->second;
    };
  }

  std::vector<Row> run() {
    plan = make_plan(config, device, resources, device.memory_bytes);
    return run_plan(plan, resources, executor, tracer, times, options);
  }
};

TEST_CASE("each group has the time of its own calls, and the run has the total") {
  TimedToyRun b({"first", "second"});
  b.run();
  REQUIRE(b.plan.groups.size() == 2);
  for (const Group& group : b.plan.groups) {
    const auto& [began_s, times] = b.times.groups.at(&group);
    // Two variants are verified twice each and have ten samples.
    CHECK(times.set_up == 1);
    CHECK(times.reference == 4 * 10);
    CHECK(times.verify == 4 * 1100);
    CHECK(times.warm_up == 2 * 1e4);
    CHECK(times.sample == 20 * 1e5);
    CHECK(times.counters == 0);
    CHECK(times.total ==
          times.set_up + times.reference + times.verify + times.warm_up + times.sample);
    // Two floors precede the groups.
    const bool is_first = &group == &b.plan.groups.front();
    CHECK(began_s == 2e9 + (is_first ? 0 : times.total));
  }
  CHECK(b.times.run.sample == 40 * 1e5);
  CHECK(b.times.run.total == b.clock_s);
}

TEST_CASE("the time for counters belongs to the groups whose rows are counted") {
  TimedToyRun b({"first"});
  b.experiment().counters = {"dram_read_bytes"};
  b.run();
  // One call counts both rows.
  for (const Group& group : b.plan.groups)
    CHECK(b.times.groups.at(&group).second.counters == 5e6);
  CHECK(b.times.run.counters == 1e7);
}

TEST_CASE("a row waits for its prediction while others are measured") {
  TimedToyRun b({"first", "second"});
  std::set<std::size_t> predicted{0};
  b.options.is_predicted = [&](const Cell& cell) { return predicted.count(cell.index) > 0; };
  b.options.refine_prediction = [&](const Cell& cell, Prediction& prediction) {
    prediction.why_no_time = "cell " + std::to_string(cell.index);
    b.clock_s += predicted.count(cell.index) > 0 ? 0 : 7;
    // The second group's first prediction arrives during the wait for the first group's last.
    predicted.insert({cell.index, 2});
  };
  b.run();
  CHECK(b.times.events == std::vector<std::string>{
                              "timed first", "timed second", "finished first cell 0", "timed first",
                              "timed second", "finished first cell 2", "waiting 2",
                              "finished second cell 1", "waiting 1", "finished second cell 3"});
  CHECK(b.times.run.prediction == 14);
}

Report with_times() {
  Report report = small_report();
  report.times.sample = 3;
  report.times.total = 5;
  for (int i = 0; i < 12; ++i) {
    GroupTimes group{"ladder " + std::to_string(i / 2), "n=" + std::to_string(i), "cold", 0.25, {}};
    group.times.verify = 0.5;
    group.times.total = 2;
    report.group_times.push_back(group);
  }
  report.group_times[5].times.total = 4;
  return report;
}

TEST_CASE("times of a run are read back from its JSON and from its log") {
  Report report = with_times();
  const Report read = parse_report(to_json(report), "x");
  CHECK(read.times == report.times);
  CHECK(read.group_times == report.group_times);
  CHECK(to_json(small_report()).find("times_s") == std::string::npos);

  const ScratchFolder folder;
  const std::string file = folder.path() / kRunLogName;
  Report blank = small_report();
  blank.table.rows.clear();
  blank.samples_us.clear();
  {
    RunLogWriter log(file, blank, 12, {"abc", {}, {}, {}, false});
    for (std::size_t i = 0; i < report.group_times.size(); ++i)
      log.group_times(i, report.group_times[i]);
    log.group_times(3, report.group_times[4]);
    // If a run was killed, its time is the sum of its groups' times.
    CHECK(read_run_log(file).report.times.total == 26);
    report.times.total = 50;
    log.times(report.times);
    log.times(report.times);
  }
  const RunLog log = read_run_log(file);
  // A group's later line replaces an earlier one; times of resumed parts are summed.
  CHECK(log.group_times.at(3) == report.group_times[4]);
  CHECK(log.group_times.at(2) == report.group_times[2]);
  CHECK(log.report.group_times.size() == report.group_times.size());
  CHECK(log.report.times.total == 100);
}

TEST_CASE("the table of times lists the longest experiments first") {
  CHECK(!run_times_view(small_report()));
  Report report = with_times();
  report.provenance.device.executed_on = kSimulated;
  CHECK(!run_times_view(report));
  report.provenance.device.executed_on.reset();
  const ExperimentView view = *run_times_view(report);
  std::vector<std::string> headings;
  for (const ViewColumn& column : view.columns)
    headings.push_back(column.heading);
  CHECK(headings == std::vector<std::string>{"experiment", "groups", "sample", "other", "total"});
  REQUIRE(view.rows.size() == 7);
  CHECK(view.rows.front().cells ==
        std::vector<std::string>{"ladder 2", "2", "0.00", "5.00", "6.00"});
  CHECK(view.rows.back().cells ==
        std::vector<std::string>{"the run", "12", "3.00", "2.00", "5.00"});

  for (int i = 12; i < 24; ++i)
    report.group_times.push_back({"more " + std::to_string(i), "", "cold", 0, {}});
  const ExperimentView longer = *run_times_view(report);
  REQUIRE(longer.rows.size() == 10);
  CHECK(longer.rows[8].cells.front() == "10 others");
}

}  // namespace
}  // namespace gpuexp::test
