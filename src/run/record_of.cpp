#include "run/record_of.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "family/counters.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

namespace {

// ---- columns

ColumnInfo parameter_info(const Parameter& parameter) {
  const FieldType type =
      std::holds_alternative<std::string>(parameter.default_value) ? FieldType::text
      : std::holds_alternative<double>(parameter.default_value)    ? FieldType::real
                                                                   : FieldType::integer;
  return {kParameterPrefix + parameter.name, parameter.unit, type, parameter.doc};
}

// ---- sums over a prediction's work

double useful_bytes_of(const Prediction& p) {
  return p.work.bytes_read + p.work.bytes_written;
}

double moved_bytes_of(const Prediction& p) {
  return p.work.moved_read + p.work.moved_written;
}

// DRAM bytes read and written according to the counters; empty if not counted.
std::optional<double> counted_dram_bytes(const Row& row) {
  if (!row.counts) return std::nullopt;
  const auto bytes = select_counters({"dram_read_bytes", "dram_write_bytes"});
  const auto read = counted(bytes[0], *row.counts);
  const auto written = counted(bytes[1], *row.counts);
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

// DRAM bytes for the arithmetic intensity, and their source: "counted", or "least" if not counted.
std::pair<double, std::string> intensity_bytes(const Row& row, const Prediction& p) {
  if (const auto counted = counted_dram_bytes(row)) return {*counted, "counted"};
  return {moved_bytes_of(p), "least"};
}

// amount / (median time in seconds × scale); empty without a time or amount.
std::optional<double> per_second(const Row& row, double amount, double scale) {
  if (!row.time_us || amount <= 0) return std::nullopt;
  return amount / (row.time_us->median * 1e-6) / scale;
}

std::optional<double> percent_of(const Row& row, const std::optional<double>& limit_us) {
  if (!row.time_us || !limit_us) return std::nullopt;
  return 100.0 * *limit_us / row.time_us->median;
}

std::vector<std::string> texts_of(const std::vector<StepTime>& timeline) {
  std::vector<std::string> texts;
  for (const StepTime& step : timeline) {
    const std::string rank = step.rank ? fmt::format("{}.", *step.rank) : "";
    texts.push_back(fmt::format("{}@{}{}:{:.1f}-{:.1f}", step.what, rank, step.stream,
                                step.begin_us, step.end_us));
  }
  return texts;
}

std::string cache_state_of(const Plan& plan, const Row& row, const SampleTraits& traits) {
  if (traits.flushed_bytes > 0) return "flushed";
  if (row.cell->mode != Mode::graph) return "warm";
  return traits.rotated_bytes >= 2 * plan.device.l2_bytes ? "rotated" : "resident";
}

// ---- parts of a record

void fill_labels(ResultRecord& r, const Plan& plan, const Row& row) {
  const Experiment& experiment = plan.experiment(*row.group);
  const Variant& variant = *row.cell->variant;
  r.experiment = experiment.name;
  r.family = experiment.family->id;
  r.variant = variant.id;
  r.implementation = variant.is_vendor ? Implementation::library : Implementation::kernel;
  r.mode = row.cell->mode;
  r.status = row.status;
  r.reason = row.reason;
  r.flags = row.flags;
  r.executed_on = plan.device.simulated ? kSimulated : kOnGpu;
  r.key = row.key;
  const int gpus = experiment.family->gpus_of(row.group->problem.get());
  if (gpus > 1) r.gpus = gpus;
  if (experiment.baseline) r.baseline = experiment.baseline->id;
  r.compare_to = variant.compare_to;
  r.expected_changes = expected_changes_at(variant.expected_changes, row.group->problem.get());
  if (row.stop_reason != StopReason::none) r.stop_reason = row.stop_reason;
}

void fill_times(ResultRecord& r, const Row& row, const Statistics& time_us) {
  r.time_median_us = time_us.median;
  if (time_us.median_ci95) {
    r.time_ci95_low_us = time_us.median_ci95->low;
    r.time_ci95_high_us = time_us.median_ci95->high;
  }
  r.time_min_us = time_us.min;
  r.time_p5_us = time_us.p5;
  r.time_p25_us = time_us.p25;
  r.time_p75_us = time_us.p75;
  r.time_p95_us = time_us.p95;
  r.time_mean_us = time_us.mean;
  r.time_stdev_us = time_us.stdev;
  r.time_mad_us = time_us.mad;
  if (time_us.quantum_us > 0) r.timer_resolution_us = time_us.quantum_us;
  r.correlation_time = time_us.correlation_time;
  r.outliers = static_cast<std::int64_t>(time_us.outliers);
  r.samples = static_cast<std::int64_t>(time_us.count);
  if (row.baseline_time_us) r.speedup = *row.baseline_time_us / time_us.median;
}

void fill_conditions(ResultRecord& r, const Plan& plan, const Row& row, const Statistics& time_us) {
  if (row.traits) {
    r.flushed_bytes = row.traits->flushed_bytes;
    r.graph_launches = row.traits->launches;
    r.rotated_bytes = row.traits->rotated_bytes;
    r.timeline = texts_of(row.traits->timeline);
    r.cache_state = cache_state_of(plan, row, *row.traits);
  }
  r.floor_us = row.floor_us;
  if (!row.skews_us.empty()) r.skew_us = summarize(row.skews_us, 0).median;
  if (row.clocks) {
    r.sm_clock_mhz = row.clocks->median_mhz;
    r.sm_clock_min_mhz = row.clocks->min_mhz;
    r.sm_clock_max_mhz = row.clocks->max_mhz;
    r.cycles = time_us.median * row.clocks->median_mhz;
  }
  if (row.sustained) {
    r.sustained_time_us = row.sustained->time_us.median;
    r.sustained_sm_clock_mhz = row.sustained->sm_clock_mhz;
    r.sustained_power_w = row.sustained->power_w;
  }
}

void fill_telemetry(ResultRecord& r, const Telemetry& telemetry) {
  r.nvml_sm_clock_mhz = telemetry.sm_clock_mhz;
  r.memory_clock_mhz = telemetry.memory_clock_mhz;
  r.power_w = telemetry.power_w;
  r.temperature_c = telemetry.temperature_c;
  r.clock_reasons = telemetry.clock_reasons;
}

void fill_work(ResultRecord& r, const Row& row, const Prediction& p) {
  const double operations = operation_count(p.work);
  r.useful_bytes = useful_bytes_of(p);
  r.moved_bytes = moved_bytes_of(p);
  if (operations > 0) r.operations = operations;
  r.work_from = p.work.is_assumed ? kAssumedWork : "declared";
  const double link_bytes = std::max(p.work.to_peers, p.work.from_peers);
  if (link_bytes > 0) r.link_bytes = link_bytes;
  r.link_gb_per_s = per_second(row, link_bytes, 1e9);
  r.useful_gb_per_s = per_second(row, useful_bytes_of(p), 1e9);
  r.moved_gb_per_s = per_second(row, moved_bytes_of(p), 1e9);
  r.tflops = per_second(row, operations, 1e12);
  if (operations > 0) {
    const auto [bytes, from] = intensity_bytes(row, p);
    r.intensity_from = from;
    if (bytes > 0) r.arithmetic_intensity = operations / bytes;
  }
}

void fill_limits(ResultRecord& r, const Row& row, const Prediction& p) {
  r.limit_time_us = p.limit.time_us;
  r.limit_by = p.limit.by;
  r.limit_pct = percent_of(row, p.limit.time_us);
  r.dram_limit_pct = percent_of(row, p.limit.dram_us);
  r.compute_limit_pct = percent_of(row, p.limit.compute_us);
  r.measured_limit_time_us = p.measured_limit.time_us;
  r.measured_limit_by = p.measured_limit.by;
  r.measured_limit_pct = percent_of(row, p.measured_limit.time_us);
  r.predicted_time_us = p.time_us;
  if (p.band) {
    r.predicted_band_pct = p.band->pct;
    r.predicted_band_cause = p.band->cause;
  }
  r.predicted_from = p.time_from;
  r.bound_by = p.bound_by;
  r.predicted_timeline = texts_of(p.timeline);
  if (p.time_us && row.time_us) r.prediction_error = std::log(*p.time_us / row.time_us->median);
}

void fill_launch(ResultRecord& r, const Prediction& p) {
  r.kernel_launches = p.kernel_launches;
  if (p.shape) {
    r.grid_blocks = p.shape->grid.count();
    r.block_threads = p.shape->block.count();
  }
  if (p.occupancy) {
    r.registers = p.occupancy->registers;
    r.local_bytes = p.occupancy->local_bytes;
    r.shared_bytes = p.occupancy->shared_bytes;
    r.blocks_per_sm = p.occupancy->blocks_per_sm;
    r.occupancy_pct = p.occupancy->warps_pct;
    r.occupancy_limiter = p.occupancy->limiter;
  }
  if (p.waves) {
    r.waves = p.waves->waves;
    r.tail_efficiency_pct = p.waves->tail_efficiency_pct;
  }
}

void fill_verification(ResultRecord& r, const Verification& v) {
  r.error_rms_rel = v.error_rms_rel;
  r.error_max_rel = v.error_max_rel;
  r.error_over_allowed = v.worst_over_allowed;
  const bool has_rms_bound = !std::isinf(v.rms.allowed);  // users' kernels have none
  if (has_rms_bound) r.error_rms_over_allowed = v.rms.over_allowed();
  if (v.elements > 0)
    r.verified_pct = 100 * static_cast<double>(v.checked) / static_cast<double>(v.elements);
}

void fill_named(ResultRecord& r, const Plan& plan, const Row& row) {
  const Family& family = *plan.experiment(*row.group).family;
  const auto& parameters = family.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& unused = row.cell->unused_parameters;
    const bool is_used = std::ranges::find(unused, i) == unused.end();
    if (!is_used || !family.holds(parameters[i], row.group->values)) continue;
    std::visit([&](const auto& value) { r.parameters.set(parameters[i].name, value); },
               row.group->values[i]);
  }
  // In reverse order: if two metrics have the same name, the value of the first one remains.
  for (auto metric = row.metrics.rbegin(); metric != row.metrics.rend(); ++metric)
    r.metrics.set(metric->first, metric->second);
  if (!row.counts) return;
  if (row.counts->standard_error) r.counts_error_pct = 100 * *row.counts->standard_error;
  for (const SelectedCounter& counter : select_counters(plan.config->counters())) {
    if (const auto value = counted(counter, *row.counts)) r.counters.set(counter.name, *value);
  }
}

// Clears infinite and NaN values of fixed columns, which result from a division by zero.
void drop_nonfinite(ResultRecord& r) {
  for (const FixedColumn& column : fixed_columns()) {
    const auto* member = std::get_if<std::optional<double> ResultRecord::*>(&column.member);
    if (!member) continue;
    auto& value = r.**member;
    if (value && !std::isfinite(*value)) value.reset();
  }
}

}  // namespace

RecordTable empty_table(const Plan& plan) {
  std::vector<ColumnInfo> columns;
  for (const FixedColumn& column : fixed_columns()) {
    if (column.presence != Presence::merged) columns.push_back(column);
  }
  std::set<std::string> names;
  const auto add = [&](ColumnInfo column) {
    if (names.insert(column.name).second) columns.push_back(std::move(column));
  };
  for (const Experiment& e : plan.config->experiments) {
    for (const Parameter& p : e.family->parameters)
      add(parameter_info(p));
  }
  for (const Experiment& e : plan.config->experiments) {
    for (const Metric& m : e.family->metrics)
      add({kMetricPrefix + m.name, m.unit, FieldType::real, m.doc});
  }
  for (const SelectedCounter& counter : select_counters(plan.config->counters()))
    add(counter_info(counter));
  return RecordTable(columns);
}

ResultRecord record_of(const RecordTable& table, const Plan& plan, const Row& row) {
  ResultRecord r = table.blank_record();
  fill_labels(r, plan, row);
  if (row.time_us) {
    fill_times(r, row, *row.time_us);
    fill_conditions(r, plan, row, *row.time_us);
  }
  fill_telemetry(r, row.telemetry);
  if (row.prediction) {
    fill_work(r, row, *row.prediction);
    fill_limits(r, row, *row.prediction);
    fill_launch(r, *row.prediction);
  }
  if (row.verification) fill_verification(r, *row.verification);
  fill_named(r, plan, row);
  drop_nonfinite(r);
  return r;
}

ColumnInfo counter_info(const SelectedCounter& counter) {
  return {kCounterPrefix + counter.name, counter.unit, FieldType::real, counter.doc};
}

Table empty_kernel_table(const Plan& plan) {
  Table table;
  const auto counters = select_counters(plan.config->counters());
  if (counters.empty()) return table;
  table.columns = {
      {"key", "", FieldType::text, "key of the row whose launch includes the kernel"},
      {"kernel", "", FieldType::integer, "position of the kernel in the launch, counted from 0"},
      {"name", "", FieldType::text, "name and template arguments of the kernel; empty if unknown"}};
  for (const SelectedCounter& counter : counters)
    table.columns.push_back(counter_info(counter));
  return table;
}

std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row) {
  std::vector<std::vector<Field>> rows;
  if (!row.counts) return rows;
  const auto counters = select_counters(plan.config->counters());
  for (std::size_t i = 0; i < std::min(row.counts->kernels.size(), kMaxKernelRows); ++i) {
    std::vector<Field>& fields = rows.emplace_back();
    fields = {row.key, static_cast<std::int64_t>(i),
              text_field(kernel_name(row.counts->kernels[i].kernel))};
    for (const SelectedCounter& counter : counters)
      fields.push_back(number_field(counted(counter, *row.counts, i)));
  }
  return rows;
}

}  // namespace gpuexp
