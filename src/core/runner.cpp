#include "core/runner.hpp"

#include <chrono>

#include <fmt/format.h>

#include "core/flags.hpp"

namespace gpuexp {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::passed: return "passed";
    case Status::incorrect: return "incorrect";
    case Status::failed: return "failed";
    case Status::skipped: return "skipped";
    case Status::timeout: return "timeout";
    case Status::not_run: return "not_run";
  }
  return "unknown";
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::none: return "";
    case StopReason::converged: return "converged";
    case StopReason::max_samples: return "max_samples";
    case StopReason::max_seconds: return "max_seconds";
    case StopReason::interrupted: return "interrupted";
  }
  return "unknown";
}

namespace {

double steady_seconds() {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string describe(const Verification& v) {
  if (!v.overrun.empty()) return fmt::format("wrote outside of buffer '{}'", v.overrun);
  if (!v.changed_input.empty()) return fmt::format("wrote into input '{}'", v.changed_input);
  return fmt::format(
      "{} of {} elements are wrong; first {}[{}]: expected {:.9g}, got {:.9g}, allowed ±{:.3g}",
      v.wrong, v.checked, v.first->buffer, v.first->index, v.first->expected, v.first->got,
      v.first->allowed);
}

class Runner {
 public:
  Runner(const Plan& plan, const KernelResources& resources, Executor& executor, Tracer& tracer,
         RunObserver& observer, const RunOptions& options)
      : plan_(plan),
        resources_(resources),
        executor_(executor),
        tracer_(tracer),
        observer_(observer),
        options_(options),
        now_s_(options.now_s ? options.now_s : steady_seconds) {}

  std::vector<Row> run() {
    for (const Group& group : plan_.groups)
      run_group(group);
    return std::move(rows_);
  }

 private:
  void run_group(const Group& group) {
    const Experiment& experiment = plan_.experiment(group);
    const std::size_t first_row = rows_.size();
    std::string set_up_error;
    for (const Cell& cell : group.cells) {
      Row row;
      row.group = &group;
      row.cell = &cell;
      row.key = cell_key(plan_, group, cell);
      observer_.cell_started(group, cell, row.key);
      fill_prediction(group, cell, row);
      if (!cell.skip_reason.empty()) {
        row.status = Status::skipped;
        row.reason = cell.skip_reason;
      } else if (device_lost_ || interrupted()) {
        row.status = Status::not_run;
        row.reason = device_lost_ ? "the device was lost before: " + lost_reason_ : "interrupted";
      } else {
        run_cell(experiment, group, cell, row);
      }
      refer_to_baseline(experiment, first_row, row);
      add_flags(row);
      rows_.push_back(std::move(row));
      observer_.row_finished(rows_.back());
    }
  }

  bool interrupted() {
    interrupted_ = interrupted_ || options_.interrupted();
    return interrupted_;
  }

  void fill_prediction(const Group& group, const Cell& cell, Row& row) {
    row.prediction = predict_cell(plan_, group, cell, resources_);
    if (!row.prediction || !cell.variant->metrics) return;
    row.metrics = cell.variant->metrics(group.problem.get(), plan_.device);
  }

  void run_cell(const Experiment& experiment, const Group& group, const Cell& cell, Row& row) {
    const TraceRange range(tracer_, row.key);
    try {
      set_up(experiment, group);
      measure(experiment, cell, row);
    } catch (const DeviceError& e) {
      row.status = Status::failed;
      row.reason = e.what();
      row.samples_us.clear();
      row.time_us.reset();
      current_problem_ = nullptr;
      if (e.device_lost()) {
        device_lost_ = true;
        lost_reason_ = e.what();
      }
    }
  }

  // Groups that differ in the mode alone share one set-up.
  void set_up(const Experiment& experiment, const Group& group) {
    if (current_problem_ && current_family_ == experiment.family &&
        *current_values_ == group.values)
      return;
    const TraceRange range(tracer_, "set-up");
    current_problem_ = nullptr;
    executor_.set_up(*experiment.family, group.problem.get(), options_.seed);
    current_problem_ = group.problem;
    current_family_ = experiment.family;
    current_values_ = &group.values;
  }

  // True when the outputs are right; otherwise the row says what is wrong.
  bool verified(const Variant& variant, Row& row, const char* when) {
    const TraceRange range(tracer_, "verify");
    return passed(executor_.verify(variant), row, when);
  }

  // The launch that is profiled is the one that is verified: there is no other.
  bool profiled(const Cell& cell, Row& row) {
    const Variant& variant = *cell.variant;
    {
      const TraceRange range(tracer_, "verify");
      executor_.poison(variant);
    }
    {
      const TraceRange range(tracer_, "measure");
      executor_.launch(variant, cell.mode);
    }
    const TraceRange range(tracer_, "verify");
    return passed(executor_.check(variant), row, "");
  }

  static bool passed(const Verification& verification, Row& row, const char* when) {
    row.verification = verification;
    if (row.verification->passed()) return true;
    row.status = Status::incorrect;
    row.reason = fmt::format("{}{}", describe(*row.verification), when);
    row.samples_us.clear();
    row.time_us.reset();
    return false;
  }

  void measure(const Experiment& experiment, const Cell& cell, Row& row) {
    const Variant& variant = *cell.variant;
    const bool right =
        options_.kind == RunKind::profile ? profiled(cell, row) : verified(variant, row, "");
    if (!right) return;
    for (auto& metric : executor_.measured_metrics(variant))
      row.metrics.push_back(std::move(metric));
    row.status = Status::passed;
    if (options_.kind != RunKind::measure) return;
    {
      const TraceRange range(tracer_, "warm-up");
      executor_.warm_up(variant, cell.mode, experiment.measure.warmup_launches);
    }
    if (cell.mode == Mode::cold) row.flushed_bytes = executor_.flush_bytes();
    sample(experiment.measure, cell, row);
    if (row.samples_us.empty()) {
      row.status = Status::not_run;
      row.reason = "interrupted";
      return;
    }
    if (verified(variant, row, " (after timing)"))
      row.time_us = summarize(row.samples_us, executor_.time_quantum_us());
  }

  void sample(const MeasureSettings& settings, const Cell& cell, Row& row) {
    const TraceRange range(tracer_, "measure");
    const double start_s = now_s_();
    while (row.stop_reason == StopReason::none) {
      if (interrupted()) {
        row.stop_reason = StopReason::interrupted;
        return;
      }
      row.samples_us.push_back(executor_.sample_us(*cell.variant, cell.mode));
      row.stop_reason = stop_reason(settings, row.samples_us, now_s_() - start_s);
    }
  }

  StopReason stop_reason(const MeasureSettings& settings, const std::vector<double>& samples,
                         double elapsed_s) const {
    const auto count = static_cast<int>(samples.size());
    if (count >= settings.max_samples) return StopReason::max_samples;
    // Sorting at every sample would be quadratic; the interval narrows with the square root of the
    // count, so looking at every tenth loses little.
    constexpr int kLookEvery = 10;
    if (count >= settings.min_samples && (count - settings.min_samples) % kLookEvery == 0) {
      const Statistics s = summarize(samples, executor_.time_quantum_us());
      if (s.median_ci95) {
        const double half_width = (s.median_ci95->high - s.median_ci95->low) / 2;
        if (half_width <= settings.target_relative_ci * s.median) return StopReason::converged;
      }
    }
    if (elapsed_s >= settings.max_seconds) return StopReason::max_seconds;
    return StopReason::none;
  }

  // The baseline comes first in its group, so that every later row can refer to it.
  void refer_to_baseline(const Experiment& experiment, std::size_t first_row, Row& row) const {
    if (!experiment.baseline || row.status != Status::passed) return;
    if (row.cell->variant == experiment.baseline) {
      if (row.time_us) row.baseline_time_us = row.time_us->median;
      return;
    }
    for (std::size_t i = first_row; i < rows_.size(); ++i) {
      if (rows_[i].cell->variant == experiment.baseline)
        row.baseline_time_us = rows_[i].baseline_time_us;
    }
  }

  void add_flags(Row& row) const {
    if (row.prediction && row.prediction->occupancy &&
        !row.prediction->occupancy->exact_architecture) {
      row.flags.emplace_back(kOtherArchitecture.id);
    }
    if (!row.time_us) return;
    const MeasureSettings& settings = plan_.experiment(*row.group).measure;
    if (static_cast<int>(row.samples_us.size()) < settings.min_samples)
      row.flags.emplace_back(kFewSamples.id);
    const Prediction& p = *row.prediction;
    if (p.work.bytes_written < static_cast<double>(plan_.device.l2_bytes))
      row.flags.emplace_back(kOutputInL2.id);
    if (p.limit_time_us && row.time_us->median < *p.limit_time_us)
      row.flags.emplace_back(kAboveLimit.id);
  }

  const Plan& plan_;
  const KernelResources& resources_;
  Executor& executor_;
  Tracer& tracer_;
  RunObserver& observer_;
  const RunOptions& options_;
  std::function<double()> now_s_;
  std::vector<Row> rows_;
  std::shared_ptr<const void> current_problem_;
  const Family* current_family_ = nullptr;
  const Values* current_values_ = nullptr;
  bool device_lost_ = false;
  bool interrupted_ = false;
  std::string lost_reason_;
};

}  // namespace

std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options) {
  return Runner(plan, resources, executor, tracer, observer, options).run();
}

}  // namespace gpuexp
