#include "core/columns.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config_keys.hpp"
#include "core/counter_columns.hpp"
#include "core/flags.hpp"

namespace gpuexp {

namespace {

template <class T>
Field field(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  return *value;
}

Field text(std::string_view value) {
  return value.empty() ? Field{} : Field{std::string(value)};
}

// A number of the time statistics; only a passed row has them.
Field time_of(const Row& row, double Statistics::*member) {
  return row.time_us ? Field{(*row.time_us).*member} : Field{};
}

std::string_view cache_state(const Plan& plan, const Row& row) {
  if (!row.time_us || !row.traits) return "";
  if (row.traits->flushed_bytes > 0) return "flushed";
  if (row.cell->mode != Mode::graph) return "warm";
  return row.traits->rotated_bytes >= 2 * plan.device.l2_bytes ? "rotated" : "resident";
}

// amount / time, where time is the median of a passed row.
Field per_second(const Row& row, double amount, double scale) {
  if (!row.time_us || amount <= 0) return std::monostate{};
  return amount / (row.time_us->median * 1e-6) / scale;
}

Field percent_of(const Row& row, const std::optional<double>& limit_us) {
  if (!row.time_us || !limit_us) return std::monostate{};
  return 100.0 * *limit_us / row.time_us->median;
}

double operations(const Row& row) {
  double sum = 0;
  if (row.prediction) {
    for (const Operations& o : row.prediction->work.operations)
      sum += o.count;
  }
  return sum;
}

// The column with what a schema can check.
Column with(Column column, Presence presence, std::vector<std::string> values = {}) {
  column.presence = presence;
  column.values = std::move(values);
  return column;
}

// The names of enumerators that have one.
template <class Enums>
std::vector<std::string> names_of_all(const Enums& enums) {
  std::vector<std::string> names;
  for (const auto value : enums) {
    if (!name_of(value).empty()) names.emplace_back(name_of(value));
  }
  return names;
}

// "cold or warm", "passed, failed or skipped"
std::string one_of(const std::vector<std::string>& names) {
  const auto last = names.end() - 1;
  return fmt::format("{} or {}", fmt::join(names.begin(), last, ", "), *last);
}

// A value derived from the prediction; empty where there is none.
template <class Get>
Column predicted(ColumnInfo info, Get get) {
  return {std::move(info), [get](const Plan&, const Row& row) {
            return row.prediction ? Field{get(*row.prediction)} : Field{};
          }};
}

template <class Get>
Column occupied(ColumnInfo info, Get get) {
  return {std::move(info), [get](const Plan&, const Row& row) {
            return row.prediction && row.prediction->occupancy
                       ? Field{get(*row.prediction->occupancy)}
                       : Field{};
          }};
}

template <class Get>
Column waved(ColumnInfo info, Get get) {
  return {std::move(info), [get](const Plan&, const Row& row) {
            return row.prediction && row.prediction->waves ? Field{get(*row.prediction->waves)}
                                                           : Field{};
          }};
}

template <class Get>
Column verified(ColumnInfo info, Get get) {
  return {std::move(info), [get](const Plan&, const Row& row) {
            return row.verification ? Field{get(*row.verification)} : Field{};
          }};
}

constexpr FieldType kText = FieldType::text;
constexpr FieldType kInteger = FieldType::integer;
constexpr FieldType kReal = FieldType::real;

std::string flag_meanings() {
  std::vector<std::string> meanings;
  for (const Flag& flag : kFlags)
    meanings.push_back(fmt::format("{} ({})", flag.id, flag.meaning));
  return fmt::format("{}", fmt::join(meanings, ", "));
}

void append_identity(std::vector<Column>& c) {
  const auto statuses = names_of_all(kStatuses);
  const auto modes = names_of(kModes);
  const auto add_to_all = [&](ColumnInfo info, auto get, std::vector<std::string> values = {}) {
    c.push_back(with({std::move(info), get}, Presence::all, std::move(values)));
  };
  add_to_all({"experiment", "", kText, "the experiment's name in the config"},
             [](const Plan& p, const Row& r) { return Field{p.experiment(*r.group).name}; });
  add_to_all({"family", "", kText, "the family of variants"},
             [](const Plan& p, const Row& r) { return Field{p.experiment(*r.group).family->id}; });
  add_to_all({"variant", "", kText, "the mechanism measured"},
             [](const Plan&, const Row& r) { return Field{r.cell->variant->id}; });
  add_to_all(
      {"mode", "", kText,
       "how launches are timed, and what they find in the caches: " + one_of(modes)},
      [](const Plan&, const Row& r) { return text(name_of(r.cell->mode)); }, modes);
  add_to_all(
      {"status", "", kText, one_of(statuses)},
      [](const Plan&, const Row& r) { return text(name_of(r.status)); }, statuses);
  c.push_back({{"reason", "", kText, "why the status is not passed"},
               [](const Plan&, const Row& r) { return text(r.reason); }});
  c.push_back(
      {{"flags", "", kText, "semicolon-separated warnings: " + flag_meanings()},
       [](const Plan&, const Row& r) { return text(fmt::format("{}", fmt::join(r.flags, ";"))); }});
}

// A value of a timed row that the timing itself had.
template <class T, class Get>
Column timed(ColumnInfo info, std::optional<T> Row::*member, Get get) {
  return with({std::move(info),
               [member, get](const Plan&, const Row& r) {
                 return r.time_us && r.*member ? Field{get(*(r.*member))} : Field{};
               }},
              Presence::passed);
}

void append_conditions(std::vector<Column>& c) {
  const auto trait = [](ColumnInfo info, auto get) {
    return timed(std::move(info), &Row::traits, get);
  };
  const auto clock = [](ColumnInfo info, double Clocks::*member) {
    return timed(std::move(info), &Row::clocks, [member](const Clocks& k) { return k.*member; });
  };
  c.push_back(trait({"flushed_bytes", "B", kInteger, "bytes read to clear caches before a sample"},
                    [](const SampleTraits& t) { return t.flushed_bytes; }));
  c.push_back(trait({"graph_launches", "", kInteger, "launches in each timed replay; 1: no graph"},
                    [](const SampleTraits& t) { return std::int64_t{t.launches}; }));
  c.push_back(trait({"rotated_bytes", "B", kInteger,
                     "all copies of the buffers that the launches of a replay take in turn"},
                    [](const SampleTraits& t) { return t.rotated_bytes; }));
  c.push_back({{"cache_state", "", kText,
                "what launches found: flushed, warm, rotated (copies of twice L2 or more) or "
                "resident (copies that caches can hold)"},
               [](const Plan& p, const Row& r) { return text(cache_state(p, r)); }});
  c.push_back({{"discarded_samples", "", kInteger, "left out for a low clock"},
               [](const Plan&, const Row& r) {
                 return r.time_us ? Field{std::int64_t{r.discarded_samples}} : Field{};
               }});
  c.push_back(timed({"floor_us", "us", kReal, "median time of an empty kernel in the same mode"},
                    &Row::floor_us, [](double us) { return us; }));
  c.push_back(clock({"sm_clock_mhz", "MHz", kReal,
                     "SM clock: cycles over time on each SM, during samples of 500 us and longer, "
                     "during the rounds of shorter ones"},
                    &Clocks::median_mhz));
  c.push_back(
      clock({"sm_clock_min_mhz", "MHz", kReal, "lowest of its readings"}, &Clocks::min_mhz));
  c.push_back(
      clock({"sm_clock_max_mhz", "MHz", kReal, "highest of its readings"}, &Clocks::max_mhz));
  c.push_back({{"nvml_sm_clock_mhz", "MHz", kReal, "mean SM clock that the driver reports (NVML)"},
               [](const Plan&, const Row& r) { return field(r.telemetry.sm_clock_mhz); }});
  c.push_back(
      {{"memory_clock_mhz", "MHz", kReal, "lowest memory clock that the driver reports (NVML)"},
       [](const Plan&, const Row& r) { return field(r.telemetry.memory_clock_mhz); }});
  c.push_back({{"power_w", "W", kReal, "mean board power meanwhile (NVML)"},
               [](const Plan&, const Row& r) { return field(r.telemetry.power_w); }});
  c.push_back({{"temperature_c", "C", kReal, "highest temperature of the GPU meanwhile (NVML)"},
               [](const Plan&, const Row& r) { return field(r.telemetry.temperature_c); }});
  c.push_back({{"clock_reasons", "", kText,
                "semicolon-separated, what the driver says kept clocks down meanwhile: "
                "sw_power_cap, hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, "
                "hw_power_brake_slowdown (NVML)"},
               [](const Plan&, const Row& r) {
                 return text(fmt::format("{}", fmt::join(r.telemetry.clock_reasons, ";")));
               }});
  c.push_back(
      {{"cycles", "", kReal, "median time in cycles of that clock"}, [](const Plan&, const Row& r) {
         return r.time_us && r.clocks ? Field{r.time_us->median * r.clocks->median_mhz} : Field{};
       }});
}

void append_times(std::vector<Column>& c) {
  const auto add_to_passed = [&](ColumnInfo info, auto get) {
    c.push_back(with({std::move(info), get}, Presence::passed));
  };
  const auto add_time = [&](const char* name, const char* doc, double Statistics::*member) {
    add_to_passed({name, "us", kReal, doc},
                  [member](const Plan&, const Row& r) { return time_of(r, member); });
  };
  const auto add_interval_end = [&](const char* name, const char* doc, double Interval::*end) {
    add_to_passed({name, "us", kReal, doc}, [end](const Plan&, const Row& r) {
      return r.time_us && r.time_us->median_ci95 ? Field{(*r.time_us->median_ci95).*end} : Field{};
    });
  };
  add_time("time_median_us", "median time of one launch", &Statistics::median);
  add_interval_end(
      "time_ci95_low_us",
      "lower end of the 95 % interval of the median, correlation of the samples included",
      &Interval::low);
  add_interval_end("time_ci95_high_us", "upper end of the 95 % interval of the median",
                   &Interval::high);
  add_time("time_min_us", "fastest launch", &Statistics::min);
  add_time("time_p5_us", "5th percentile", &Statistics::p5);
  add_time("time_p25_us", "25th percentile", &Statistics::p25);
  add_time("time_p75_us", "75th percentile", &Statistics::p75);
  add_time("time_p95_us", "95th percentile", &Statistics::p95);
  add_time("time_mean_us", "arithmetic mean", &Statistics::mean);
  add_to_passed(
      {"time_stdev_us", "us", kReal, "sample standard deviation"},
      [](const Plan&, const Row& r) { return r.time_us ? field(r.time_us->stdev) : Field{}; });
  add_time("time_mad_us", "median absolute deviation from the median, not scaled",
           &Statistics::mad);
  add_to_passed({"time_quantum_us", "us", kReal, "step of the clock; empty where unknown"},
                [](const Plan&, const Row& r) {
                  return r.time_us && r.time_us->quantum_us > 0 ? Field{r.time_us->quantum_us}
                                                                : Field{};
                });
  add_to_passed(
      {"correlation_time", "samples", kReal,
       "correlated samples that tell as much of the median as one independent sample"},
      [](const Plan&, const Row& r) { return time_of(r, &Statistics::correlation_time); });
  add_to_passed({"outliers", "", kInteger, "samples further than 14.826 MAD from the median"},
                [](const Plan&, const Row& r) {
                  return r.time_us ? Field{static_cast<std::int64_t>(r.time_us->outliers)}
                                   : Field{};
                });
  add_to_passed({"samples", "", kInteger, "samples taken"}, [](const Plan&, const Row& r) {
    return r.time_us ? Field{static_cast<std::int64_t>(r.time_us->count)} : Field{};
  });
  const auto stop_reasons = names_of_all(kStopReasons);
  c.push_back(with({{"stop_reason", "", kText, one_of(stop_reasons)},
                    [](const Plan&, const Row& r) { return text(name_of(r.stop_reason)); }},
                   Presence::some, stop_reasons));
  append_conditions(c);
  c.push_back({{"baseline", "", kText, "the variant that speedup refers to"},
               [](const Plan& p, const Row& r) {
                 const Variant* baseline = p.experiment(*r.group).baseline;
                 return baseline ? Field{baseline->id} : Field{};
               }});
  c.push_back({{kCompareToColumn, "", kText,
                "the variant that differs by this one's mechanism alone, in the experiment or not"},
               [](const Plan&, const Row& r) { return text(r.cell->variant->compare_to); }});
  c.push_back({{kMovesColumn, "", kText,
                "semicolon-separated, what hardware counters should do against compare_to at this "
                "problem: counter, falls, rises or stays, by which factor at least (stays: at "
                "most)"},
               [](const Plan&, const Row& r) {
                 return text(text_of(moves_at(r.cell->variant->moves, r.group->problem.get())));
               }});
  add_to_passed(
      {"speedup", "x", kReal, "the baseline's median time over this one's, same problem and mode"},
      [](const Plan&, const Row& r) {
        return r.time_us && r.baseline_time_us ? Field{*r.baseline_time_us / r.time_us->median}
                                               : Field{};
      });
}

void append_work(std::vector<Column>& c) {
  c.push_back(predicted(
      {"useful_bytes", "B", kReal, "bytes that the result needs: inputs once, outputs once"},
      [](const Prediction& p) { return p.work.bytes_read + p.work.bytes_written; }));
  c.push_back(predicted(
      {"moved_bytes", "B", kReal,
       "least bytes that DRAM moves for it: useful bytes rounded up to the 32-byte sectors "
       "that the access touches"},
      [](const Prediction& p) { return p.work.moved_read + p.work.moved_written; }));
  c.push_back({{"operations", "", kReal, "arithmetic operations, a fused multiply-add counting 2"},
               [](const Plan&, const Row& r) {
                 return r.prediction && operations(r) > 0 ? Field{operations(r)} : Field{};
               }});
  c.push_back(with(
      {{"useful_gb_per_s", "GB/s", kReal, "useful bytes over median time (10^9 bytes)"},
       [](const Plan&, const Row& r) {
         return r.prediction
                    ? per_second(
                          r, r.prediction->work.bytes_read + r.prediction->work.bytes_written, 1e9)
                    : Field{};
       }},
      Presence::passed));
  c.push_back(with(
      {{"moved_gb_per_s", "GB/s", kReal, "moved bytes over median time"},
       [](const Plan&, const Row& r) {
         return r.prediction
                    ? per_second(
                          r, r.prediction->work.moved_read + r.prediction->work.moved_written, 1e9)
                    : Field{};
       }},
      Presence::passed));
  c.push_back(with({{"tflops", "TFLOP/s", kReal, "operations over median time (10^12 operations)"},
                    [](const Plan&, const Row& r) { return per_second(r, operations(r), 1e12); }},
                   Presence::passed));
}

void append_limits(std::vector<Column>& c) {
  c.push_back(
      {{"limit_time_us", "us", kReal, "least time that datasheet bandwidth and rates allow"},
       [](const Plan&, const Row& r) {
         return r.prediction ? field(r.prediction->limit.time_us) : Field{};
       }});
  c.push_back({{"limit_by", "", kText, "what binds that limit: dram, or an arithmetic pipe"},
               [](const Plan&, const Row& r) {
                 return r.prediction ? text(r.prediction->limit.by) : Field{};
               }});
  c.push_back(with({{"limit_pct", "%", kReal, "limit over median time"},
                    [](const Plan&, const Row& r) {
                      return r.prediction ? percent_of(r, r.prediction->limit.time_us) : Field{};
                    }},
                   Presence::passed));
  c.push_back(with({{"dram_limit_pct", "%", kReal,
                     "time for the least DRAM bytes at datasheet bandwidth over median time"},
                    [](const Plan&, const Row& r) {
                      return r.prediction ? percent_of(r, r.prediction->limit.dram_us) : Field{};
                    }},
                   Presence::passed));
  c.push_back(with({{"compute_limit_pct", "%", kReal,
                     "time for the operations at the datasheet rate over median time"},
                    [](const Plan&, const Row& r) {
                      return r.prediction ? percent_of(r, r.prediction->limit.compute_us) : Field{};
                    }},
                   Presence::passed));
}

// Counted bytes of device memory; empty where they were not counted.
std::optional<double> counted_dram_bytes(const Row& row) {
  if (!row.counts) return std::nullopt;
  const auto bytes = select_counters({"dram_read_bytes", "dram_write_bytes"});
  const auto read = counted(bytes[0], *row.counts);
  const auto written = counted(bytes[1], *row.counts);
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

// The bytes of device memory that an intensity is made of, and where they are from.
std::pair<double, std::string> intensity_bytes(const Row& row) {
  if (const auto counted = counted_dram_bytes(row)) return {*counted, "counted"};
  const Prediction& p = *row.prediction;
  double declared = 0;
  for (const Traffic& t : p.traffic)
    declared += t.launches * (t.dram_read_bytes + t.dram_write_bytes);
  if (declared > 0) return {declared, "declared"};
  return {p.work.moved_read + p.work.moved_written, "least"};
}

void append_prediction(std::vector<Column>& c) {
  c.push_back({{"measured_limit_time_us", "us", kReal,
                "least time that ceilings measured on this kind of GPU allow"},
               [](const Plan&, const Row& r) {
                 return r.prediction ? field(r.prediction->measured_limit.time_us) : Field{};
               }});
  c.push_back(
      {{"measured_limit_by", "", kText, "what binds that limit"}, [](const Plan&, const Row& r) {
         return r.prediction ? text(r.prediction->measured_limit.by) : Field{};
       }});
  c.push_back(with({{"measured_limit_pct", "%", kReal, "measured limit over median time"},
                    [](const Plan&, const Row& r) {
                      return r.prediction ? percent_of(r, r.prediction->measured_limit.time_us)
                                          : Field{};
                    }},
                   Presence::passed));
  c.push_back({{"predicted_time_us", "us", kReal,
                "time that what the variant declares to move and execute takes on this GPU"},
               [](const Plan&, const Row& r) {
                 return r.prediction ? field(r.prediction->time_us) : Field{};
               }});
  c.push_back({{"bound_by", "", kText,
                fmt::format("what takes longest in that prediction: {}", one_of(resource_names()))},
               [](const Plan&, const Row& r) {
                 return r.prediction ? text(r.prediction->bound_by) : Field{};
               }});
  c.push_back(with({{"prediction_error", "", kReal,
                     "natural logarithm of predicted over median time: 0.1 is 10 % too long"},
                    [](const Plan&, const Row& r) -> Field {
                      if (!r.prediction || !r.prediction->time_us || !r.time_us) return {};
                      return std::log(*r.prediction->time_us / r.time_us->median);
                    }},
                   Presence::passed));
  c.push_back({{"arithmetic_intensity", "", kReal, "operations per byte of device memory"},
               [](const Plan&, const Row& r) -> Field {
                 if (!r.prediction || operations(r) <= 0) return {};
                 const double bytes = intensity_bytes(r).first;
                 return bytes > 0 ? Field{operations(r) / bytes} : Field{};
               }});
  c.push_back(
      {{"intensity_from", "", kText,
        "whose bytes these are: counted, declared by the variant, or the least there can be"},
       [](const Plan&, const Row& r) -> Field {
         if (!r.prediction || operations(r) <= 0) return {};
         return intensity_bytes(r).second;
       }});
}

void append_occupancy(std::vector<Column>& c) {
  const auto shape = [](ColumnInfo info, std::int64_t (*get)(const Shape&)) {
    return Column{std::move(info), [get](const Plan&, const Row& r) {
                    return r.prediction && r.prediction->shape ? Field{get(*r.prediction->shape)}
                                                               : Field{};
                  }};
  };
  c.push_back(shape({"grid_blocks", "", kInteger, "blocks of the largest launch"},
                    [](const Shape& s) { return s.grid.count(); }));
  c.push_back(shape({"block_threads", "", kInteger, "threads per block"},
                    [](const Shape& s) { return s.block.count(); }));
  c.push_back(occupied({"registers", "", kInteger, "registers per thread"},
                       [](const Occupancy& o) { return std::int64_t{o.registers}; }));
  c.push_back(
      occupied({"local_bytes", "B", kInteger, "local memory per thread: spills and indexed arrays"},
               [](const Occupancy& o) { return std::int64_t{o.local_bytes}; }));
  c.push_back(occupied({"shared_bytes", "B", kInteger, "shared memory per block"},
                       [](const Occupancy& o) { return o.shared_bytes; }));
  c.push_back(occupied({"blocks_per_sm", "", kInteger, "resident blocks per SM"},
                       [](const Occupancy& o) { return std::int64_t{o.blocks_per_sm}; }));
  c.push_back(
      occupied({"occupancy_pct", "%", kReal, "resident warps over the most that an SM holds"},
               [](const Occupancy& o) { return o.warps_pct; }));
  c.push_back(
      occupied({"occupancy_limiter", "", kText, "what keeps more blocks from being resident"},
               [](const Occupancy& o) { return o.limiter; }));
  c.push_back(waved({"waves", "", kReal, "blocks over (SMs × resident blocks per SM)"},
                    [](const Waves& w) { return w.waves; }));
  c.push_back(waved({"tail_efficiency_pct", "%", kReal, "blocks over (whole waves × wave size)"},
                    [](const Waves& w) { return w.tail_efficiency_pct; }));
}

void append_errors(std::vector<Column>& c) {
  c.push_back(verified(
      {"error_rms_rel", "", kReal,
       "root-mean-square error over the root-mean-square result, against fp64 on unrounded inputs"},
      [](const Verification& v) { return v.error_rms_rel; }));
  c.push_back(verified(
      {"error_max_rel", "", kReal, "largest error over the root-mean-square result, likewise"},
      [](const Verification& v) { return v.error_max_rel; }));
  c.push_back(
      verified({"error_over_allowed", "", kReal,
                "largest error over the tolerance that verification allows; above 1 is incorrect"},
               [](const Verification& v) { return v.worst_over_allowed; }));
  c.push_back(with({{"key", "", kText,
                     "experiment/family/variant/parameters/mode, also the name of the NVTX range"},
                    [](const Plan&, const Row& r) { return Field{r.key}; }},
                   Presence::all));
}

Column parameter_column(const Parameter& parameter) {
  const FieldType type = std::holds_alternative<std::string>(parameter.default_value) ? kText
                         : std::holds_alternative<double>(parameter.default_value)    ? kReal
                                                                                      : kInteger;
  return {{"param." + parameter.name, parameter.unit, type, parameter.doc},
          [name = parameter.name](const Plan& p, const Row& r) -> Field {
            const auto& parameters = p.experiment(*r.group).family->parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
              if (parameters[i].name != name) continue;
              return std::visit([](const auto& v) { return Field{v}; }, r.group->values[i]);
            }
            return std::monostate{};
          }};
}

Column metric_column(const Metric& metric) {
  return {{"metric." + metric.name, metric.unit, kReal, metric.doc},
          [name = metric.name](const Plan&, const Row& r) -> Field {
            for (const auto& [metric_name, value] : r.metrics) {
              if (metric_name == name) return value;
            }
            return std::monostate{};
          }};
}

}  // namespace

const std::vector<Column>& core_columns() {
  static const std::vector<Column> kColumns = [] {
    std::vector<Column> c;
    append_identity(c);
    append_times(c);
    append_work(c);
    append_limits(c);
    append_prediction(c);
    append_occupancy(c);
    append_errors(c);
    return c;
  }();
  return kColumns;
}

std::vector<Column> columns_of(const Plan& plan) {
  std::vector<Column> columns = core_columns();
  std::set<std::string> names;
  const auto add = [&](Column column) {
    if (names.insert(column.name).second) columns.push_back(std::move(column));
  };
  for (const Experiment& e : plan.config->experiments) {
    for (const Parameter& p : e.family->parameters)
      add(parameter_column(p));
  }
  for (const Experiment& e : plan.config->experiments) {
    for (const Metric& m : e.family->metrics)
      add(metric_column(m));
  }
  for (const SelectedCounter& counter : select_counters(plan.config->counters()))
    add(counter_column(counter));
  return columns;
}

std::vector<Field> fields_of(const std::vector<Column>& columns, const Plan& plan, const Row& row) {
  std::vector<Field> fields;
  fields.reserve(columns.size());
  for (const Column& c : columns)
    fields.push_back(c.get(plan, row));
  return fields;
}

Table empty_table(const std::vector<Column>& columns) {
  Table table;
  table.columns.assign(columns.begin(), columns.end());
  return table;
}

}  // namespace gpuexp
