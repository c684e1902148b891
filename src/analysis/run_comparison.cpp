#include "analysis/run_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "analysis/compared_row.hpp"
#include "base/table.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

struct ComparisonColumn : ColumnInfo {
  std::function<Field(const ComparedRow&)> get;
};

constexpr FieldType kText = FieldType::text;
constexpr FieldType kInteger = FieldType::integer;
constexpr FieldType kReal = FieldType::real;

template <class T, class Get>
Field value_field(const std::optional<T>& value, const Get& get) {
  return value ? Field(get(*value)) : Field();
}

std::vector<ComparisonColumn> declare_columns() {
  using Row = const ComparedRow&;
  std::vector<ComparisonColumn> columns;
  const auto add = [&](std::string name, const char* unit, FieldType type, std::string doc,
                       std::function<Field(Row)> get) {
    columns.push_back({{std::move(name), unit, type, std::move(doc)}, std::move(get)});
  };
  const auto status = [](const std::optional<Status>& s) {
    return text_field(s ? name_of(*s) : "");
  };
  add("outcome", "", kText,
      "slower, faster, same, inconclusive, missing (passed in A, absent from B), added (only in "
      "B), "
      "broken (passed only in A), repaired (passed only in B) or untested (passed in neither)",
      [](Row r) { return text_field(name_of(r.outcome)); });
  add("why", "", kText, "reason why there is no verdict",
      [](Row r) { return text_field(r.reason); });
  add("status_a", "", kText, "status in A", [=](Row r) { return status(r.status_a); });
  add("status_b", "", kText, "status in B", [=](Row r) { return status(r.status_b); });
  for (const auto& [side, run, member] :
       {std::tuple("a", "A", &ComparedRow::a), std::tuple("b", "B", &ComparedRow::b)}) {
    const auto statistic = [&, of = member](const std::string& name, const char* unit,
                                            FieldType type, std::string doc, auto get) {
      add(name, unit, type, std::move(doc), [=](Row r) { return value_field(r.*of, get); });
    };
    const std::string time = fmt::format("time_{}", side);
    statistic(time + "_us", "us", kReal, fmt::format("median time in {}", run),
              [](const Statistics& s) { return s.median; });
    statistic(time + "_ci95_low_us", "us", kReal,
              "lower end of the 95 % interval of the median time", [](const Statistics& s) {
                return value_field(s.median_ci95, [](const Interval& i) { return i.low; });
              });
    statistic(time + "_ci95_high_us", "us", kReal,
              "upper end of the 95 % interval of the median time", [](const Statistics& s) {
                return value_field(s.median_ci95, [](const Interval& i) { return i.high; });
              });
    statistic(fmt::format("samples_{}", side), "", kInteger,
              fmt::format("number of samples in {}", run),
              [](const Statistics& s) { return static_cast<std::int64_t>(s.count); });
  }
  add("ratio", "x", kReal, "median time in B divided by median time in A",
      [](Row r) { return value_field(r.ratio, [](const Ratio& x) { return x.value; }); });
  add("ratio_ci95_low", "x", kReal, "lower end of the 95 % interval of the ratio",
      [](Row r) { return value_field(r.ratio, [](const Ratio& x) { return x.ci95.low; }); });
  add("ratio_ci95_high", "x", kReal, "upper end of the 95 % interval of the ratio",
      [](Row r) { return value_field(r.ratio, [](const Ratio& x) { return x.ci95.high; }); });
  add("clock_ratio", "x", kReal,
      "SM clock in B divided by SM clock in A; a difference must also show in cycles",
      [](Row r) { return number_field(r.clock_ratio); });
  add("floor_shift_us", "us", kReal,
      "time of as many empty kernels as a launch has, B minus A; a difference must exceed it, and "
      "times that are the same after subtracting it are the same",
      [](Row r) { return number_field(r.floor_shift_us); });
  add("min_effect_pct", "%", kReal, "minimum effect: smaller differences count as the same",
      [](Row r) { return value_field(r.effect, [](double effect) { return 100 * effect; }); });
  return columns;
}

const std::vector<ComparisonColumn>& comparison_columns() {
  static const std::vector<ComparisonColumn> kColumns = declare_columns();
  return kColumns;
}

Outcome outcome_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return Outcome::same;
    case Verdict::faster: return Outcome::faster;
    case Verdict::slower: return Outcome::slower;
    case Verdict::inconclusive: return Outcome::inconclusive;
  }
  return Outcome::inconclusive;
}

// Row indices by key. `keys` are in order of first appearance.
struct Index {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::size_t>> rows;

  const std::vector<std::size_t>& of(const std::string& key) const {
    static const std::vector<std::size_t> kNone;
    const auto found = rows.find(key);
    return found == rows.end() ? kNone : found->second;
  }
};

Index index_of(const Report& report, const char* which) {
  if (!report.table.has(&ResultRecord::key))
    throw ReportError(fmt::format("run {}: no column 'key'; it is needed to compare rows", which));
  Index index;
  for (std::size_t i = 0; i < report.table.rows.size(); ++i) {
    const std::string& key = report.table.rows[i].key;
    std::vector<std::size_t>& rows = index.rows[key];
    if (rows.empty()) index.keys.push_back(key);
    rows.push_back(i);
  }
  return index;
}

class Comparer {
 public:
  Comparer(const Report& a, const Report& b, const MinimumEffect& effect)
      : a_(a), b_(b), effect_(effect), in_a_(index_of(a, "A")), in_b_(index_of(b, "B")) {}

  std::vector<ComparedRow> rows() const {
    std::vector<ComparedRow> rows;
    for (const std::string& key : in_a_.keys)
      rows.push_back(compared(key));
    for (const std::string& key : in_b_.keys) {
      if (in_a_.of(key).empty()) rows.push_back(compared(key));
    }
    return rows;
  }

 private:
  const ResultRecord& of_a(std::size_t row) const { return a_.table.rows[row]; }
  const ResultRecord& of_b(std::size_t row) const { return b_.table.rows[row]; }

  ComparedRow compared(const std::string& key) const {
    const auto& rows_a = in_a_.of(key);
    const auto& rows_b = in_b_.of(key);
    ComparedRow row;
    row.is_in_both = !rows_a.empty() && !rows_b.empty();
    row.record = rows_a.empty() ? &of_b(rows_b.front()) : &of_a(rows_a.front());
    if (rows_a.size() > 1 || rows_b.size() > 1) {
      row.reason = fmt::format("the key is in {} of A and {} of B", counted(rows_a.size(), "row"),
                               rows_b.size());
      return row;
    }
    if (!rows_a.empty()) row.status_a = of_a(rows_a.front()).status;
    if (!rows_b.empty()) row.status_b = of_b(rows_b.front()).status;
    if (const auto outcome = untimed(rows_a.empty(), rows_b.empty(), row)) {
      row.outcome = *outcome;
      row.reason = why(*outcome, rows_a, rows_b);
    } else {
      compare_times(rows_a.front(), rows_b.front(), row);
    }
    return row;
  }

  // The outcome of a row that did not pass in both runs; empty if it did.
  static std::optional<Outcome> untimed(bool absent_a, bool absent_b, const ComparedRow& row) {
    const bool passed_a = has_passed(row.status_a);
    const bool passed_b = has_passed(row.status_b);
    if (absent_a) return Outcome::added;
    if (absent_b) return passed_a ? Outcome::missing : Outcome::untested;
    if (passed_a && passed_b) return std::nullopt;
    if (passed_a) return Outcome::broken;
    return passed_b ? Outcome::repaired : Outcome::untested;
  }

  std::string why(Outcome outcome, const std::vector<std::size_t>& rows_a,
                  const std::vector<std::size_t>& rows_b) const {
    const auto state = [](const ResultRecord& row, const char* which) {
      return fmt::format("{} in {}{}{}", status_text(row), which, row.reason.empty() ? "" : ": ",
                         row.reason);
    };
    if (rows_b.empty()) return state(of_a(rows_a.front()), "A") + ", not in B";
    if (outcome == Outcome::added) return state(of_b(rows_b.front()), "B") + ", not in A";
    if (outcome == Outcome::repaired) return state(of_a(rows_a.front()), "A");
    return state(of_b(rows_b.front()), "B");
  }

  void compare_times(std::size_t row_a, std::size_t row_b, ComparedRow& row) const {
    const RowStatistics a = statistics_of(a_, row_a, "A");
    const RowStatistics b = statistics_of(b_, row_b, "B");
    row.a = a.statistics;
    row.b = b.statistics;
    row.reason = a.problem.empty() ? b.problem : a.problem;
    if (!row.reason.empty()) return;
    row.ratio = ratio_of(*row.a, *row.b);
    row.effect = effect_.at(std::min(row.a->median, row.b->median));
    const auto both = [&](std::optional<double> ResultRecord::*member)
        -> std::optional<std::pair<double, double>> {
      const auto in_a = of_a(row_a).*member;
      const auto in_b = of_b(row_b).*member;
      if (!in_a || !in_b || !(*in_a > 0) || !(*in_b > 0)) return std::nullopt;
      return std::pair{*in_a, *in_b};
    };
    if (const auto mhz = both(&ResultRecord::sm_clock_mhz))
      row.clock_ratio = mhz->second / mhz->first;
    if (const auto us = both(&ResultRecord::floor_us)) {
      // Rows of older runs have no kernel_launches.
      row.kernel_launches = std::max(of_a(row_a).kernel_launches.value_or(1),
                                     of_b(row_b).kernel_launches.value_or(1));
      row.floor_shift_us = static_cast<double>(row.kernel_launches) * (us->second - us->first);
    }
    row.outcome = outcome_of(row.verdict());
    if (row.outcome == Outcome::inconclusive) row.reason = why_inconclusive(row);
  }

  static std::string why_inconclusive(const ComparedRow& row) {
    if (verdict_of(row.ratio->ci95, *row.effect) == Verdict::inconclusive)
      return "the interval includes the minimum effect";
    const Interval in_cycles =
        row.clock_ratio ? confirmed_in_cycles(row.ratio->ci95, *row.clock_ratio) : row.ratio->ci95;
    if (verdict_of(in_cycles, *row.effect) == Verdict::inconclusive)
      return fmt::format("different in time but not in cycles: SM clock B/A {:.3f}",
                         *row.clock_ratio);
    const std::string several =
        row.kernel_launches > 1 ? fmt::format("{} ", row.kernel_launches) : "";
    return fmt::format("{}empty kernels of the two runs also differ by {:.3f} us", several,
                       std::abs(*row.floor_shift_us));
  }

  const Report& a_;
  const Report& b_;
  MinimumEffect effect_;
  Index in_a_;
  Index in_b_;
};

bool names_a_row(const ColumnHandle& column) {
  static const std::array<RecordMember, 5> kMembers{&ResultRecord::experiment,
                                                    &ResultRecord::family, &ResultRecord::variant,
                                                    &ResultRecord::mode, &ResultRecord::key};
  if (!column.fixed) return column.group == &ResultRecord::parameters;
  return std::find(kMembers.begin(), kMembers.end(), column.fixed->member) != kMembers.end();
}

std::vector<RecordColumn> labels_of(const RecordTable& a, const RecordTable& b) {
  std::vector<RecordColumn> columns;
  for (const RecordTable* table : {&a, &b}) {
    for (const RecordColumn& c : table->columns) {
      const bool has = std::ranges::any_of(
          columns, [&](const RecordColumn& other) { return other.handle == c.handle; });
      if (names_a_row(c.handle) && !has) columns.push_back(c);
    }
  }
  return columns;
}

Table table_of(const RunComparison& comparison) {
  Table table;
  table.columns.assign(comparison.labels.begin(), comparison.labels.end());
  const auto& columns = comparison_columns();
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  for (const ComparedRow& row : comparison.rows) {
    std::vector<Field>& fields = table.rows.emplace_back();
    for (const RecordColumn& column : comparison.labels)
      fields.push_back(column.handle.field(*row.record));
    for (const ComparisonColumn& column : columns)
      fields.push_back(column.get(row));
  }
  return table;
}

void count(const ComparedRow& row, Tally& tally) {
  ++tally.counts.at(static_cast<std::size_t>(row.outcome));
  if (row.ratio) tally.ratios.push_back(*row.ratio);
}

}  // namespace

RunComparison compare_runs(const Report& a, const Report& b, const MinimumEffect& effect) {
  const Comparer comparer(a, b, effect);
  RunComparison comparison;
  comparison.rows = comparer.rows();
  comparison.labels = labels_of(a.table, b.table);
  comparison.table = table_of(comparison);
  for (const ComparedRow& row : comparison.rows) {
    auto& experiments = comparison.experiments;
    auto tally = std::ranges::find(experiments, row.record->experiment, &Tally::experiment);
    if (tally == experiments.end()) {
      experiments.push_back({row.record->experiment, {}, {}});
      tally = experiments.end() - 1;
    }
    count(row, *tally);
    count(row, comparison.all);
  }
  return comparison;
}

void keep_keys(Report& report, const std::set<std::string>& keys) {
  if (!report.table.has(&ResultRecord::key))
    throw ReportError("no column 'key'; it is needed to compare rows");
  std::vector<ResultRecord> rows;
  std::vector<std::vector<double>> samples_us;
  for (std::size_t i = 0; i < report.table.rows.size(); ++i) {
    ResultRecord& row = report.table.rows[i];
    if (!keys.count(row.key)) continue;
    rows.push_back(std::move(row));
    if (!report.samples_us.empty()) samples_us.push_back(std::move(report.samples_us[i]));
  }
  report.table.rows = std::move(rows);
  report.samples_us = std::move(samples_us);
}

std::vector<RepeatedCell> repeated_cells(const std::vector<Report>& runs) {
  std::map<std::string, std::size_t> compared;  // by key: number of pairs of runs with a ratio
  std::vector<std::pair<std::string, RepeatedCell>> cells;
  std::size_t pairs = 0;
  for (std::size_t b = 1; b < runs.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      ++pairs;
      for (const ComparedRow& row : compare_runs(runs[a], runs[b], {}).rows) {
        if (!row.ratio) continue;
        ++compared[row.record->key];
        cells.push_back({row.record->key,
                         {row.beyond_circumstances(), std::min(row.a->median, row.b->median)}});
      }
    }
  }
  std::vector<RepeatedCell> in_all;
  for (const auto& [key, cell] : cells) {
    if (compared[key] == pairs) in_all.push_back(cell);
  }
  return in_all;
}

}  // namespace gpuexp
