#include "record/columns.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config_keys.hpp"
#include "record/column_makers.hpp"
#include "record/counter_columns.hpp"
#include "record/flags.hpp"
#include "record/prediction_columns.hpp"

namespace gpuexp {

namespace {

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

// The names of enumerators that have one.
template <class Enums>
std::vector<std::string> names_of_all(const Enums& enums) {
  std::vector<std::string> names;
  for (const auto value : enums) {
    if (!name_of(value).empty()) names.emplace_back(name_of(value));
  }
  return names;
}

template <class Get>
Column verified(ColumnInfo info, Get get) {
  return {std::move(info), [get](const Plan&, const Row& row) {
            return row.verification ? Field{get(*row.verification)} : Field{};
          }};
}

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
  c.push_back(timed({"floor_us", "us", kReal, "median time of an empty kernel in the same mode"},
                    &Row::floor_us, [](double us) { return us; }));
  c.push_back(
      clock({"sm_clock_mhz", "MHz", kReal,
             "SM clock: cycles over time on each SM, during samples of 500 us and longer, "
             "during the rounds of shorter ones; empty where the GPU idled for most of that"},
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
  c.push_back(
      {{"power_w", "W", kReal,
        "mean board power while the group was sampled (NVML); this and what else the driver "
        "says is empty where that was shorter than the time between two readings"},
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
  const auto sustained = [](ColumnInfo info, auto get) {
    return with({std::move(info),
                 [get](const Plan&, const Row& r) {
                   return r.time_us && r.sustained ? field(get(*r.sustained)) : Field{};
                 }},
                Presence::passed);
  };
  c.push_back(sustained({"sustained_time_us", "us", kReal,
                         "median of a few samples after the group's launches had run back to back "
                         "for burst_check_seconds; of groups near the power cap"},
                        [](const Sustained& s) { return std::optional(s.time_us.median); }));
  c.push_back(sustained(
      {"sustained_sm_clock_mhz", "MHz", kReal, "SM clock over the second half of those launches"},
      [](const Sustained& s) { return s.sm_clock_mhz; }));
  c.push_back(sustained({"sustained_power_w", "W", kReal, "mean board power likewise (NVML)"},
                        [](const Sustained& s) { return s.power_w; }));
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
  add_to_passed({"time_quantum_us", "us", kReal, "timer resolution; empty where unknown"},
                [](const Plan&, const Row& r) {
                  return r.time_us && r.time_us->quantum_us > 0 ? Field{r.time_us->quantum_us}
                                                                : Field{};
                });
  add_to_passed(
      {"correlation_time", "samples", kReal,
       "integrated autocorrelation time: so many successive samples count as one independent "
       "sample"},
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
  c.push_back(verified({"error_rms_over_allowed", "", kReal,
                        "root-mean-square error over what verification allows it to be; above 1 is "
                        "incorrect"},
                       [](const Verification& v) { return v.rms.over_allowed(); }));
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
    append_prediction_columns(c);
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
