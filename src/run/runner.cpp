#include "run/runner.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/steady_clock.hpp"
#include "plan/plan.hpp"
#include "record/flags.hpp"
#include "run/burst_check.hpp"
#include "run/group_run.hpp"
#include "run/row.hpp"
#include "run/sample_clocks.hpp"
#include "run/session.hpp"

namespace gpuexp {

namespace {

struct Batch {
  std::vector<Row*> rows;
  std::int64_t bytes = 0;  ///< device memory of the rows' problems
};

bool is_same_problem(const Plan& plan, const Row& a, const Row& b) {
  return plan.experiment(*a.group).family == plan.experiment(*b.group).family &&
         a.group->values == b.group->values;
}

std::vector<Batch> batches_of(const Plan& plan, const std::vector<Row*>& rows) {
  // Small batches, because after a fault all rows of the batch are counted again one by one, and
  // an interrupt waits until the batch is complete.
  constexpr std::size_t kMaxRows = 32;
  constexpr std::int64_t kShareOfMemory = 16;
  const std::int64_t max_bytes = plan.device.memory_bytes / kShareOfMemory;
  std::vector<Batch> batches;
  for (Row* row : rows) {
    const Row* last = batches.empty() ? nullptr : batches.back().rows.back();
    const std::int64_t bytes =
        last && is_same_problem(plan, *last, *row) ? 0 : row->group->device_bytes;
    const bool joins =
        last && batches.back().rows.size() < kMaxRows &&
        batches.back().bytes + bytes <= max_bytes &&
        plan.experiment(*last->group).counters == plan.experiment(*row->group).counters;
    if (!joins) batches.emplace_back();
    batches.back().rows.push_back(row);
    batches.back().bytes += joins ? bytes : row->group->device_bytes;
  }
  return batches;
}

std::vector<std::string> metrics_for(const Experiment& experiment, const RunOptions& options) {
  std::vector<std::string> metrics = metrics_of(select_counters(experiment.counters));
  std::erase_if(metrics, [&](const std::string& metric) {
    return options.missing_metrics.count(metric) > 0;
  });
  return metrics;
}

void count(Session& session, const Plan& plan, const std::vector<Row*>& rows) {
  std::vector<CountedLaunch> launches;
  for (const Row* row : rows) {
    launches.push_back({plan.experiment(*row->group).family, row->group->values, row->cell->variant,
                        row->group->mode});
    session.observer().count_started(*row);
  }
  const TraceRange range(session.tracer(), "count");
  try {
    const Experiment& experiment = plan.experiment(*rows.front()->group);
    const auto counts = session.count(launches, metrics_for(experiment, session.options()));
    const auto& add_counts = session.options().add_counts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]->counts = counts.at(i);
      if (add_counts) add_counts(*rows[i]->cell, *rows[i]->counts);
    }
  } catch (const DeviceError& error) {
    session.failed(error);
    if (rows.size() == 1) return session.observer().uncounted(*rows.front(), error.what());
    for (Row* row : rows) {
      if (session.end_reason().empty()) count(session, plan, {row});
    }
  }
}

// Reads the hardware counters of one launch of each row, in batches whose problems fit in memory
// together, because starting and ending a profiler pass takes most of the time. Calls ended(row,
// seconds) for every row, counted or not, with an equal share of the batch's time. A fault leaves a
// row's other fields unchanged.
void count_rows(Session& session, const Plan& plan, const std::vector<Row*>& rows,
                const std::function<void(Row&, double)>& ended) {
  for (const Batch& batch : batches_of(plan, rows)) {
    const double start_s = session.times().counters;
    if (session.end_reason().empty()) count(session, plan, batch.rows);
    const double batch_s = session.times().counters - start_s;
    for (Row* row : batch.rows)
      ended(*row, batch_s / static_cast<double>(batch.rows.size()));
  }
}

class Runner {
 public:
  Runner(const Plan& plan, const KernelResources& resources, Executor& executor, Tracer& tracer,
         RunObserver& observer, const RunOptions& options)
      : plan_(plan),
        resources_(resources),
        executor_(executor),
        observer_(observer),
        options_(options),
        session_(executor, tracer, observer, options, plan.device.simulated,
                 options.now_s ? options.now_s : steady_seconds) {}

  std::vector<Row> run() {
    start_s_ = session_.now_s();
    session_.timed(&RunTimes::total, [&] {
      if (options_.kind == RunKind::measure && executor_.timer()) measure_floors();
      for (std::size_t i = 0; i < plan_.groups.size(); ++i)
        run_group(i);
      check_bursts();
      count_rows();
      await_predictions();
    });
    observer_.run_ended(session_.times());
    return std::move(rows_);
  }

 private:
  struct BurstCheck {
    std::size_t group;
    std::size_t first;  ///< index of its first row in rows_
    std::size_t count;
  };

  struct Pending {
    bool burst_check = false;
    bool counters = false;
    bool prediction = false;
    bool any() const { return burst_check || counters || prediction; }
  };

  struct Spent {
    double began_s = 0;  ///< seconds after the start of the run
    RunTimes times;
  };

  // Measures floors only in modes that some cell uses.
  void measure_floors() {
    std::set<Mode> modes;
    for (const Group& group : plan_.groups) {
      if (group.mode != Mode::profile && std::any_of(group.cells.begin(), group.cells.end(), runs))
        modes.insert(group.mode);
    }
    // The floor of Mode::warm is always measured, because it shows the timer's step.
    if (!modes.empty()) modes.insert(Mode::warm);
    for (const Mode mode : modes)
      session_.measure_floor(mode);
  }

  static bool runs(const Cell& cell) { return cell.skip_reason.empty(); }

  /// Runs a step for a group and reports the group's total time so far.
  template <class Step>
  void timed_for(std::size_t index, const Step& step) {
    const double start_s = session_.now_s();
    Spent& spent = spent_.try_emplace(index, Spent{start_s - start_s_, {}}).first->second;
    session_.time_for(&spent.times);
    step();
    session_.time_for(nullptr);
    spent.times.total += session_.now_s() - start_s;
    observer_.group_timed(plan_.groups[index], spent.began_s, spent.times);
  }

  void run_group(std::size_t index) {
    const Group& group = plan_.groups[index];
    std::vector<Row> rows;
    for (const Cell& cell : group.cells) {
      if (!options_.finished.count(cell.index)) rows.push_back(blank_row(group, cell));
    }
    if (rows.empty()) return;
    observer_.group_started(group, pointers_to(rows));
    timed_for(index, [&] { GroupRun(session_, plan_, index, rows).run(); });
    const std::size_t first = rows_.size();
    for (Row& row : rows) {
      refer_to_baseline(plan_.experiment(group), rows, row);
      add_flags(row);
    }
    const bool is_checked =
        wants_burst_check(plan_.experiment(group).measure, rows, plan_.device.sm_clock_max_mhz);
    if (is_checked) checks_.push_back({index, first, rows.size()});
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
    pending_.resize(rows_.size());
    for (std::size_t i = first; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      pending_[i] = {is_checked && row.time_us, is_counted(row), wants_code_prediction(row)};
      if (wants_code_prediction(row))
        row.prediction->why_no_time = "the run ended before it was predicted";
      if (pending_[i].any()) observer_.row_timed(row);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i >= first && !pending_[i].any()) observer_.row_finished(rows_[i]);
      if (pending_[i].prediction && is_predicted(rows_[i])) refine(i);
    }
  }

  bool wants_code_prediction(const Row& row) const {
    return row.prediction && options_.refine_prediction;
  }

  bool is_predicted(const Row& row) const {
    return !options_.is_predicted || options_.is_predicted(*row.cell);
  }

  void refine(std::size_t i) {
    options_.refine_prediction(*rows_[i].cell, *rows_[i].prediction);
    settle(i, &Pending::prediction);
  }

  void settle(std::size_t i, bool Pending::*what) {
    pending_[i].*what = false;
    if (!pending_[i].any()) observer_.row_finished(rows_[i]);
  }

  void await_predictions() {
    const auto waiting = [](const Pending& row) { return row.prediction; };
    session_.timed(&RunTimes::prediction, [&] {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!pending_[i].prediction) continue;
        if (!is_predicted(rows_[i])) {
          observer_.waiting_for_predictions(
              static_cast<std::size_t>(std::ranges::count_if(pending_, waiting)));
        }
        refine(i);
      }
    });
  }

  // Runs after all timing, because samples after half a second at full power would start at a lower
  // clock.
  void check_bursts() {
    for (const BurstCheck& check : checks_) {
      const std::span rows(rows_.data() + check.first, check.count);
      timed_for(check.group, [&] { check_burst(session_, plan_, check.group, rows); });
      for (std::size_t i = check.first; i < check.first + check.count; ++i) {
        if (!pending_[i].burst_check) continue;
        if (is_burst(rows_[i])) rows_[i].flags.emplace_back(kBurst.id);
        settle(i, &Pending::burst_check);
      }
    }
  }

  bool is_counted(const Row& row) const {
    const bool has_ended = executor_.timer() ? row.time_us.has_value() : has_values(row.status);
    return options_.kind == RunKind::measure && options_.counters && has_ended &&
           executor_.counter_reader() && !plan_.experiment(*row.group).counters.empty();
  }

  // Runs after all timing, because an active profiler and its pauses would change the clock.
  void count_rows() {
    std::vector<Row*> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (pending_[i].counters) rows.push_back(&rows_[i]);
    }
    gpuexp::count_rows(session_, plan_, rows, [&](Row& row, double seconds) {
      if (!row.counts) row.flags.emplace_back(kUncounted.id);
      Spent& spent = spent_.at(static_cast<std::size_t>(row.group - plan_.groups.data()));
      spent.times.counters += seconds;
      spent.times.total += seconds;
      settle(static_cast<std::size_t>(&row - rows_.data()), &Pending::counters);
    });
    if (rows.empty()) return;
    for (const auto& [index, spent] : spent_) {
      if (spent.times.counters > 0)
        observer_.group_timed(plan_.groups[index], spent.began_s, spent.times);
    }
  }

  Row blank_row(const Group& group, const Cell& cell) const {
    Row row;
    row.group = &group;
    row.cell = &cell;
    row.key = cell_key(plan_, group, cell);
    row.prediction = predict_cell(plan_, group, cell, resources_);
    if (row.prediction && cell.variant->metrics)
      row.metrics = cell.variant->metrics(group.problem.get(), plan_.device);
    if (!cell.skip_reason.empty()) {
      row.status = Status::skipped;
      row.reason = cell.skip_reason;
    } else {
      row.reason = "the run ended before its turn";
    }
    const auto prior = options_.prior_samples_us.find(cell.index);
    if (prior != options_.prior_samples_us.end()) row.samples_us = prior->second;
    return row;
  }

  static std::vector<const Row*> pointers_to(const std::vector<Row>& rows) {
    std::vector<const Row*> pointers;
    for (const Row& row : rows)
      pointers.push_back(&row);
    return pointers;
  }

  /// The baseline is in `rows`, the rows of the group, or in an earlier group if it does not depend
  /// on all parameters.
  void refer_to_baseline(const Experiment& experiment, const std::vector<Row>& rows, Row& row) {
    if (!experiment.baseline || !has_passed(row.status)) return;
    for (const std::span<const Row> some : {std::span<const Row>(rows_), std::span(rows)}) {
      for (const Row& other : some) {
        const bool is_baseline = other.cell->variant == experiment.baseline &&
                                 other.cell->experiment == row.cell->experiment &&
                                 other.group->mode == row.group->mode &&
                                 stands_for(*other.group, *other.cell, row.group->values);
        if (is_baseline && has_passed(other.status) && other.time_us)
          row.baseline_time_us = other.time_us->median;
      }
    }
  }

  /// Whether zeros as an output would pass each verification of the row.
  static bool would_pass_zeros(const Row& row) {
    return row.verification &&
           std::ranges::any_of(row.verification->zero_shares, [&](const ZeroShare& zeros) {
             return row.verification->is_passed_by_zeros(zeros.buffer) &&
                    (!row.exact_verification ||
                     row.exact_verification->is_passed_by_zeros(zeros.buffer));
           });
  }

  void add_flags(Row& row) const {
    const auto flag_if = [&](bool holds, const Flag& flag) {
      if (holds) row.flags.emplace_back(flag.id);
    };
    flag_if(row.prediction && row.prediction->occupancy &&
                !row.prediction->occupancy->exact_architecture,
            kOtherArchitecture);
    flag_if(has_passed(row.status) && !row.hidden_terms.empty(), kHiddenTerms);
    flag_if(has_passed(row.status) && is_kernel_file(plan_.experiment(*row.group).family->id) &&
                would_pass_zeros(row),
            kZerosPass);
    if (!row.time_us) return;
    const MeasureSettings& settings = plan_.experiment(*row.group).measure;
    const double median_us = row.time_us->median;
    const Prediction& p = *row.prediction;
    const bool is_capped =
        row.stop_reason == StopReason::max_samples || row.stop_reason == StopReason::max_seconds;
    const bool has_few = static_cast<int>(row.samples_us.size()) < settings.min_samples;
    flag_if(has_few, kFewSamples);
    flag_if(is_capped && !has_few && settings.target_relative_ci > 0, kWideInterval);
    constexpr double kManyOutliers = 0.05;
    flag_if(static_cast<double>(row.time_us->outliers) >
                kManyOutliers * static_cast<double>(row.samples_us.size()),
            kOutliers);
    flag_if(p.work.bytes_written < static_cast<double>(plan_.device.l2_bytes), kOutputInL2);
    flag_if(p.limit.time_us && median_us < *p.limit.time_us, kAboveLimit);
    constexpr double kNearFloorFactor = 3.0;
    flag_if(row.floor_us && median_us < kNearFloorFactor * *row.floor_us, kNearFloor);
    flag_if(row.traits && !row.traits->gated && !is_back_to_back(row.cell->mode), kUngated);
    flag_if(!row.telemetry.clock_reasons.empty(), kThrottled);
    if (!row.clocks) return;
    flag_if(row.clocks->median_mhz < kLowClock * plan_.device.sm_clock_max_mhz, kClockLow);
    flag_if(drifted_with_clock(row.samples_us, *row.clocks), kClockDrift);
  }

  const Plan& plan_;
  const KernelResources& resources_;
  Executor& executor_;
  RunObserver& observer_;
  const RunOptions& options_;
  Session session_;
  double start_s_ = 0;  ///< start of the run
  std::vector<Row> rows_;
  std::vector<Pending> pending_;        ///< by row
  std::map<std::size_t, Spent> spent_;  ///< by index of the group
  std::vector<BurstCheck> checks_;
};

}  // namespace

std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options) {
  return Runner(plan, resources, executor, tracer, observer, options).run();
}

}  // namespace gpuexp
