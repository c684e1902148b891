#include <algorithm>

#include <fmt/format.h>

#include "analysis/explanation.hpp"
#include "analysis/sentence_fragments.hpp"
#include "family/expected_change.hpp"
#include "lesson/lesson_tables.hpp"
#include "render/explanation_text.hpp"
#include "render/markdown.hpp"

namespace gpuexp {

namespace {

std::string count_text(const ResultRecord& row, std::string_view counter) {
  const auto count = count_of(row, counter);
  return count ? counter_fragment(counter, *count) : kNotRecorded;
}

ViewRow row_of(std::vector<std::string> cells) {
  ViewRow row;
  row.cells = std::move(cells);
  return row;
}

// ---- bytes moved by DRAM

// "1.9×": bytes that DRAM read and wrote, divided by useful bytes.
std::string share_text(const ResultRecord& row) {
  const auto read = count_of(row, "dram_read_bytes");
  const auto written = count_of(row, "dram_write_bytes");
  const auto& useful = row.useful_bytes;
  return read && written && useful && *useful > 0 ? ratio_fragment((*read + *written) / *useful)
                                                  : "";
}

ExperimentView dram_view(const std::vector<ShownVariant>& variants) {
  ExperimentView view;
  view.columns = {{"variant", false},
                  {"DRAM read", true},
                  {"DRAM written", true},
                  {"useful bytes", true},
                  {"moved / useful", true}};
  for (const ShownVariant& v : variants) {
    if (!v.row || !is_counted(*v.row)) {
      view.rows.push_back(row_of({v.variant->id, kNotRecorded, "", "", ""}));
      continue;
    }
    const auto useful = v.row->useful_bytes;
    view.rows.push_back(
        row_of({v.variant->id, count_text(*v.row, "dram_read_bytes"),
                count_text(*v.row, "dram_write_bytes"),
                useful ? quantity_fragment(*useful, "B") : "", share_text(*v.row)}));
  }
  return view;
}

// ---- expected changes

// "yes: 6.6×", "no: 1.02×".
std::string outcome_text(const ExpectedChange& expected, double from, double to) {
  std::string verdict = matches_expectation(expected, from, to) ? "yes" : "no";
  if (from <= 0 || to <= 0) return verdict;
  return fmt::format("{}: {}", verdict, ratio_fragment(std::max(from, to) / std::min(from, to)));
}

void add_expected_changes(ExperimentView& view, const ShownVariant& v) {
  const std::string& compare_to = v.row->compare_to;
  const std::vector<ExpectedChange>& changes = v.row->expected_changes;
  std::string name = v.variant->id;
  std::string against = compare_to;
  if (changes.empty())
    view.rows.push_back(row_of({name, against, "none expected here", "", "", "", ""}));
  for (const ExpectedChange& expected : changes) {
    const auto from = v.reference ? count_of(*v.reference, expected.counter) : std::nullopt;
    const auto to = count_of(*v.row, expected.counter);
    view.rows.push_back(
        row_of({name, against, expected.counter,
                v.reference ? count_text(*v.reference, expected.counter) : kNotRecorded,
                count_text(*v.row, expected.counter), expected_change_fragment(expected),
                from && to ? outcome_text(expected, *from, *to) : ""}));
    name.clear();
    against.clear();
  }
}

bool expects_time(const ResultRecord& row) {
  return std::ranges::any_of(row.expected_changes, [](const ExpectedChange& change) {
    return change.counter == kTimeColumn;
  });
}

ExperimentView expected_changes_view(const std::vector<ShownVariant>& variants) {
  ExperimentView view;
  view.columns = {{"variant", false}, {"compared to", false}, {"counter", false},    {"from", true},
                  {"to", true},       {"expected", false},    {"as expected", false}};
  for (const ShownVariant& v : variants) {
    if (v.variant->compare_to.empty()) continue;
    if (v.row && (is_counted(*v.row) || expects_time(*v.row))) {
      add_expected_changes(view, v);
    } else {
      view.rows.push_back(
          row_of({v.variant->id, v.variant->compare_to, kNotRecorded, "", "", "", ""}));
    }
  }
  return view;
}

}  // namespace

std::string counters_table(const FamilyRows& rows) {
  const ShownRows shown = rows.at_one_problem();
  std::string text = facts_line(rows, shown);
  if (shown.results.rows.empty()) return text;
  if (std::ranges::none_of(shown.results.rows, is_counted)) {
    return text + "\nCounters: not recorded. `gpuexp run --counters` reads them.\n";
  }
  const std::vector<ShownVariant> variants = rows.variants_in(shown);
  text += fmt::format("\n{}", markdown_table(dram_view(variants)));
  const ExperimentView changes = expected_changes_view(variants);
  return changes.rows.empty() ? text : text + fmt::format("\n{}", markdown_table(changes));
}

}  // namespace gpuexp
