#include "lesson/lesson_tables.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/explanation.hpp"
#include "analysis/row_labels.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "render/markdown.hpp"
#include "render/view_columns.hpp"

namespace gpuexp {

namespace {

std::string predicted_ratio(const ResultRecord& row, const ResultRecord* reference) {
  const auto time = row.predicted_time_us;
  const auto other = reference ? reference->predicted_time_us : std::nullopt;
  return time && other && *time > 0 ? ratio_fragment(*other / *time) : "";
}

std::string measured_ratio(const ResultRecord& row, const ResultRecord* reference) {
  return row.time_us() && reference ? ratio_fragment(row, *reference) : "";
}

// "+3 %": predicted time minus measured time, relative to the measured time.
std::string distance_text(const ResultRecord& row) {
  const auto predicted = row.predicted_time_us;
  const auto measured = row.time_us();
  if (!predicted || !measured) return "";
  const double percent = std::round(100 * (*predicted / *measured - 1));
  return percent == 0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

std::string time_in(const std::optional<double>& time_us) {
  return time_us ? time_text(*time_us) : "";
}

// Columns of the shown variants. A variant without a row gets the note "not recorded".
class VariantColumns : public ViewColumns {
 public:
  VariantColumns(const FamilyRows& rows, const ShownRows& shown)
      : ViewColumns(shown.results), rows_(rows), variants_(rows.variants_in(shown)) {
    add("variant", false, &ResultRecord::variant);
  }

  void add_text(std::string ResultRecord::*member, const std::string& heading) {
    add_any(heading, false, [&](const ResultRecord& row) { return row.*member; });
  }

  /// Each value has its own decimals, because values may differ by orders of magnitude.
  void add_metric(const ColumnHandle& column) {
    add_any(column.name, true, [&](const ResultRecord& row) { return metric_text(row, column); });
  }

  /// Adds columns for the reference and the ratio to it, unless no row has a ratio.
  template <class Ratio>
  void add_ratio(const std::string& heading, Ratio ratio) {
    const Cell text = [&](const ResultRecord& row) { return ratio(row, rows_.reference_of(row)); };
    add_any("compared to", false, [&](const ResultRecord& row) {
      return text(row).empty() ? std::string() : row.compare_to;
    });
    add_any(heading, true, text);
  }

  /// One row per variant, in the order of the registry. Rows that did not pass show status and
  /// reason.
  ExperimentView take_measured() {
    add_notes();
    return take_all();
  }

  /// Like take_measured(), for values that need no measurement.
  ExperimentView take_all() {
    ExperimentView view = take();
    std::vector<ViewRow> rows;
    for (const ShownVariant& v : variants_) {
      const auto found = std::ranges::find_if(
          view.rows, [&](const ViewRow& row) { return row.cells.front() == v.variant->id; });
      if (found != view.rows.end()) {
        rows.push_back(*found);
        continue;
      }
      ViewRow& missing = rows.emplace_back();
      missing.cells.resize(view.columns.size());
      missing.cells.front() = v.variant->id;
      missing.note = kNotRecorded;
    }
    view.rows = std::move(rows);
    view.note_column = 1;
    return view;
  }

 private:
  const FamilyRows& rows_;
  std::vector<ShownVariant> variants_;
};

// Columns of the limit: the limiting resource, and the share of the limit that the row reaches.
struct LimitColumns {
  std::string ResultRecord::*by;
  std::optional<double> ResultRecord::*pct;
  const char* from;
};

// The limit by measured ceilings if there are any, else by the datasheet.
LimitColumns limit_columns(const ExperimentResults& results) {
  if (results.values(&ResultRecord::measured_limit_pct).empty())
    return {&ResultRecord::limit_by, &ResultRecord::limit_pct, "by the datasheet"};
  return {&ResultRecord::measured_limit_by, &ResultRecord::measured_limit_pct, "as measured"};
}

std::vector<std::string> limit_facts(const ExperimentResults& results) {
  const LimitColumns limit = limit_columns(results);
  if (results.values(limit.pct).empty()) return {};
  const std::string by = results.constant(limit.by);
  return {fmt::format("limit: {}{}", by.empty() ? "" : by + " ", limit.from)};
}

// Adds the share of the limit, and the limiting resource if it differs between rows.
void add_limit(VariantColumns& columns, const ExperimentResults& results,
               const LimitColumns& limit) {
  columns.add_any("% of limit", true, [&](const ResultRecord& row) {
    const auto& share = row.*limit.pct;
    return row.passed() && share ? percent_fragment(*share) : "";
  });
  if (results.values(limit.by).size() < 2) return;
  columns.add_any("limit by", false, [&](const ResultRecord& row) {
    return row.passed() ? row.*limit.by : std::string();
  });
}

// Metrics and errors that differ between the shown variants; "" if none differ.
std::string metrics_table(const FamilyRows& rows, const ShownRows& shown) {
  VariantColumns columns(rows, shown);
  columns.add_error();
  for (const ColumnHandle& metric : shown.results.metrics) {
    if (shown.results.values(metric).size() > 1) columns.add_metric(metric);
  }
  const ExperimentView view = columns.take_measured();
  return view.columns.size() > 1 ? fmt::format("\n{}", markdown_table(view)) : "";
}

}  // namespace

std::string facts_line(const FamilyRows& rows, const ShownRows& shown,
                       const std::vector<std::string>& more) {
  if (shown.results.rows.empty()) {
    return escape_markdown(fmt::format("Not recorded: these results have no row of {} ({}).",
                                       rows.family().id, shown.asked)) +
           "\n";
  }
  std::vector<std::string> facts = shared_facts(shown.results);
  facts.insert(facts.end(), more.begin(), more.end());
  return escape_markdown(fmt::format("{}", fmt::join(facts, " · "))) + "\n";
}

std::string metric_text(const ResultRecord& row, const ColumnHandle& column) {
  const auto number = column.number(row);
  return row.passed() && number ? number_fragment(*number) : "";
}

std::string prediction_table(const FamilyRows& rows) {
  const ShownRows shown = rows.at_one_problem();
  std::string text = facts_line(rows, shown);
  if (shown.results.rows.empty()) return text;
  VariantColumns columns(rows, shown);
  columns.add("lower bound", true,
              [](const ResultRecord& row) { return time_in(row.limit_time_us); });
  columns.add_text(&ResultRecord::limit_by, "set by");
  columns.add_any("predicted", true,
                  [](const ResultRecord& row) { return time_in(row.predicted_time_us); });
  columns.add_text(&ResultRecord::bound_by, "bound by");
  columns.add_ratio("predicted speedup", predicted_ratio);
  text += fmt::format("\n{}", markdown_table(columns.take_all()));
  const bool is_predicted = std::ranges::any_of(shown.results.rows, [](const ResultRecord& row) {
    return row.predicted_time_us.has_value();
  });
  return is_predicted ? text : text + "\nPredicted times: not recorded.\n";
}

std::string measurement_table(const FamilyRows& rows) {
  const ShownRows shown = rows.at_one_problem();
  std::string text = facts_line(rows, shown, limit_facts(shown.results));
  if (shown.results.rows.empty()) return text;
  VariantColumns columns(rows, shown);
  columns.add_times();
  columns.add_any("sustained", true, [](const ResultRecord& row) {
    return row.passed() ? time_in(row.sustained_time_us) : "";
  });
  columns.add_ratio("speedup", measured_ratio);
  columns.add_rates();
  columns.add_any("predicted", true,
                  [](const ResultRecord& row) { return time_in(row.predicted_time_us); });
  columns.add_any("off by", true, distance_text);
  add_limit(columns, shown.results, limit_columns(shown.results));
  columns.add_flags();
  return fmt::format("{}\n{}{}", text, markdown_table(columns.take_measured()),
                     metrics_table(rows, shown));
}

}  // namespace gpuexp
