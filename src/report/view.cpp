#include "report/view.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/flags.hpp"
#include "report/explanation.hpp"
#include "report/identity.hpp"
#include "report/reading.hpp"
#include "report/text.hpp"

namespace gpuexp {

namespace {

std::vector<double> numbers_of(const ExperimentResults& e, std::string_view column) {
  std::vector<double> numbers;
  for (const ResultRow& row : e.rows) {
    const auto number = row.number(column);
    if (row.passed() && number) numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Builds a view column by column.
class ViewBuilder {
 public:
  explicit ViewBuilder(const ExperimentResults& experiment) : e_(experiment) {
    view_.rows.resize(e_.rows.size());
  }

  ExperimentView build(std::optional<double> dram_bytes_per_s) {
    add_title();
    add_identity();
    view_.first_number = view_.columns.size();
    add_times();
    add_rates();
    add_limit();
    add_speedup();
    add_flags();
    view_.first_metric = view_.columns.size();
    add_error();
    for (const std::string& metric : e_.metrics)
      add_numbers(metric, metric.substr(metric.find('.') + 1));
    add_notes();
    view_.reading = printable(reading_of(e_));
    add_explanations(dram_bytes_per_s);
    return std::move(view_);
  }

 private:
  template <class Get>
  void add(const std::string& heading, bool is_number, Get get) {
    view_.columns.push_back({printable(heading), is_number});
    for (std::size_t i = 0; i < e_.rows.size(); ++i)
      view_.rows[i].cells.push_back(printable(get(e_.rows[i])));
  }

  // Nothing where no passed row has a number.
  void add_numbers(const std::string& column, const std::string& heading) {
    const auto numbers = numbers_of(e_, column);
    if (numbers.empty()) return;
    const auto decimals = decimals_for(numbers);
    add(heading, true, [&](const ResultRow& row) -> std::string {
      const auto number = row.number(column);
      if (!row.passed() || !number) return "";
      constexpr int kDigits = 3;
      return decimals ? fmt::format("{:.{}f}", *number, *decimals) : significant(*number, kDigits);
    });
  }

  void add_title() {
    view_.title = title_of(e_);
    view_.facts = shared_facts(e_);
    const auto fact = [&](const std::string& text) { view_.facts.push_back(printable(text)); };
    if (!e_.constant("baseline").empty()) fact("speed-up over " + e_.constant("baseline"));
    if (!e_.constant("limit_by").empty()) fact("limit: " + e_.constant("limit_by"));
  }

  void add_identity() {
    for (const IdentityColumn& c : identity_columns(e_))
      add(c.heading, c.is_number, [&](const ResultRow& row) { return row.text(c.column); });
  }

  void add_times() {
    add("time", true, [](const ResultRow& row) {
      const auto time = row.time_us();
      return time ? time_text(*time) : "";
    });
    const auto relative = [](const ResultRow& row) -> std::optional<double> {
      const auto time = row.time_us();
      const auto half = row.half_interval_us();
      return time && half && *time > 0 ? std::optional(100 * *half / *time) : std::nullopt;
    };
    if (std::none_of(e_.rows.begin(), e_.rows.end(), relative)) return;
    add("± %", true, [&](const ResultRow& row) {
      const auto percent = relative(row);
      if (!percent) return std::string();
      return *percent > 0 && *percent < 0.1 ? "<0.1" : fmt::format("{:.1f}", *percent);
    });
  }

  // The rate in the unit of what limits: bytes for DRAM, operations for a pipe.
  void add_rates() {
    const auto limits = e_.values("limit_by");
    const bool by_dram = std::find(limits.begin(), limits.end(), "dram") != limits.end();
    const bool by_pipe = limits.size() > (by_dram ? 1U : 0U);
    const bool has_operations = !numbers_of(e_, "tflops").empty();
    if (by_pipe || (limits.empty() && has_operations)) add_rate("tflops", "TFLOP/s");
    if (by_dram || (limits.empty() && !has_operations)) add_rate("useful_gb_per_s", "useful GB/s");
  }

  void add_rate(const std::string& column, const std::string& heading) {
    const std::size_t before = view_.columns.size();
    add_numbers(column, heading);
    if (view_.columns.size() > before && view_.full_bar == 0) add_bar(column);
  }

  void add_limit() {
    add_numbers("limit_pct", "% of limit");
    if (e_.values("limit_by").size() < 2) return;
    add("limit by", false,
        [](const ResultRow& row) { return row.passed() ? row.text("limit_by") : ""; });
  }

  // The bar shows the speed-up, and the rate where there is no baseline to compare with.
  void add_speedup() {
    const auto speedups = numbers_of(e_, "speedup");
    if (speedups.empty()) return;
    add_numbers("speedup", "speed-up");
    if (std::any_of(speedups.begin(), speedups.end(), [](double s) { return s != 1; }))
      add_bar("speedup");
  }

  // Behind the column that was added last.
  void add_bar(const std::string& column) {
    view_.bar_after = view_.columns.size() - 1;
    for (std::size_t i = 0; i < e_.rows.size(); ++i) {
      const ResultRow& row = e_.rows[i];
      view_.rows[i].bar = row.passed() ? row.number(column).value_or(0) : 0;
      if (!row.is_above_limit()) view_.full_bar = std::max(view_.full_bar, view_.rows[i].bar);
    }
    for (ViewRow& row : view_.rows)
      row.bar = std::min(row.bar, view_.full_bar);
  }

  // Flags as letters, each explained once below the table.
  void add_flags() {
    std::map<std::string, char> letters;
    const auto marks = [&](const ResultRow& row) {
      std::string text;
      if (!row.passed()) return text;
      for (const std::string& flag : split(row.text("flags"), ';')) {
        const auto letter = static_cast<char>('a' + letters.size() % 26);
        const auto [found, added] = letters.emplace(flag, letter);
        if (added) view_.footnotes.push_back(footnote(found->second, flag));
        text += found->second;
      }
      return text;
    };
    if (std::none_of(e_.rows.begin(), e_.rows.end(), [](const ResultRow& row) {
          return row.passed() && !row.text("flags").empty();
        }))
      return;
    add("", false, marks);
  }

  static std::string footnote(char letter, const std::string& id) {
    const auto* flag =
        std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& f) { return f.id == id; });
    if (flag == kFlags.end()) return printable(fmt::format("{}  {}", letter, id));
    return fmt::format("{}  {}: {} ({})", letter, flag->id, flag->meaning, flag->remedy);
  }

  // The error is news where precision is what differs.
  void add_error() {
    constexpr double kWorthShowing = 10.0;
    const auto errors = numbers_of(e_, "error_rms_rel");
    if (errors.empty()) return;
    const auto [low, high] = std::minmax_element(errors.begin(), errors.end());
    if (*high > kWorthShowing * *low) add_numbers("error_rms_rel", "rms error");
  }

  void add_notes() {
    for (std::size_t i = 0; i < e_.rows.size(); ++i) {
      const ResultRow& row = e_.rows[i];
      if (row.passed()) continue;
      view_.rows[i].status = row.text("status").empty() ? "no status" : row.text("status");
      const std::string reason = row.text("reason");
      view_.rows[i].note =
          printable(reason.empty() ? view_.rows[i].status : view_.rows[i].status + ": " + reason);
    }
  }

  // Without counters there is nothing to add to the reading.
  void add_explanations(std::optional<double> dram_bytes_per_s) {
    for (const Explanation& explanation : explanations_of(e_, {dram_bytes_per_s, false})) {
      if (explanation.counted) view_.explanations.push_back(printable(text_of(e_, explanation)));
    }
  }

  const ExperimentResults& e_;
  ExperimentView view_;
};

}  // namespace

std::vector<ExperimentView> views_of(const Table& table, std::optional<double> dram_bytes_per_s) {
  std::vector<ExperimentView> views;
  for (const ExperimentResults& experiment : experiments_of(table))
    views.push_back(ViewBuilder(experiment).build(dram_bytes_per_s));
  return views;
}

ExperimentView heading_of(const ExperimentResults& experiment) {
  ExperimentView view;
  view.title = title_of(experiment);
  view.facts = shared_facts(experiment);
  return view;
}

std::vector<std::string> provenance_facts(const Provenance& p) {
  std::vector<std::string> facts;
  const auto add = [&](const char* prefix, const std::optional<std::string>& value) {
    if (value) facts.push_back(printable(prefix + *value));
  };
  constexpr std::size_t kShortCommit = 12;
  add("gpuexp ", p.gpuexp_version);
  if (p.git_commit) {
    add("commit ", p.git_commit->substr(0, kShortCommit) +
                       (p.git_dirty.value_or(false) ? " with local changes" : ""));
  }
  add("", p.device.name);
  add("driver ", p.device.driver_version);
  add("CUDA ", p.device.runtime_version);
  add("", p.utc);
  add("", p.config.path);
  return facts;
}

std::string summary_of(const Report& report) {
  const ResultTable table(report.table);
  std::vector<std::pair<std::string, int>> counts;
  for (std::size_t i = 0; i < report.table.rows.size(); ++i) {
    const std::string status = printable(ResultRow(table, i).text("status"));
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& c) { return c.first == status; });
    if (found == counts.end()) {
      counts.emplace_back(status, 1);
    } else {
      ++found->second;
    }
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [status, count] : counts)
    parts.push_back(fmt::format("{} {}", count, status));
  const std::size_t rows = report.table.rows.size();
  std::string text = fmt::format("{} {}", rows, rows == 1 ? "row" : "rows");
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  if (!report.complete) text += "; the run ended before its end";
  return text;
}

Page page_of(const Report& report) {
  Page page;
  const auto facts = provenance_facts(report.provenance);
  if (!facts.empty()) page.head.push_back(fmt::format("{}", fmt::join(facts, " · ")));
  if (const auto& ceilings = report.provenance.ceilings)
    page.head.push_back(printable(fmt::format("predictions from {}", ceilings->source)));
  page.experiments = views_of(report.table, report.provenance.device.memory_bytes_per_s);
  page.summary = summary_of(report);
  return page;
}

}  // namespace gpuexp
