#include "render/version_table.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"

namespace gpuexp {

std::string version_count_text(double value) {
  return fmt::format("{:.0f}", value);
}

std::string version_percent_text(double value) {
  return fmt::format("{:.0f} %", value);
}

std::string version_bytes_text(double value) {
  return bytes_text(value);
}

std::string version_time_text(double value_us) {
  return time_text(value_us);
}

namespace {

std::string quantity_text(const VersionRow& row, std::size_t quantity) {
  const std::optional<double> value =
      quantity < row.values.size() ? row.values[quantity] : std::nullopt;
  return value ? kVersionQuantities[quantity].text(*value) : "";
}

bool quantity_differs(const VersionRow& before, const VersionRow& now, std::size_t quantity) {
  return quantity_text(before, quantity) != quantity_text(now, quantity);
}

bool has_changed_rows(const VersionRow& before, const VersionRow& now) {
  if (before.status != now.status || before.bound_by != now.bound_by) return true;
  for (std::size_t i = 0; i < kVersionQuantities.size(); ++i)
    if (quantity_differs(before, now, i)) return true;
  return false;
}

std::string version_ratio_text(const VersionRow& before, const VersionRow& now,
                               std::size_t quantity) {
  if (!quantity_differs(before, now, quantity)) return "";
  const auto& was = before.values[quantity];
  const auto& is = now.values[quantity];
  return was && is && *was > 0 ? fmt::format("{:.3f}", *is / *was) : "";
}

const VersionRow* row_before(const KernelVersion* before, const VersionRow& now) {
  if (!before) return nullptr;
  const auto found = std::ranges::find_if(before->rows, [&](const VersionRow& row) {
    return row.problem == now.problem && row.variant == now.variant;
  });
  return found == before->rows.end() ? nullptr : &*found;
}

using VersionCells = std::vector<std::string>;

VersionCells version_cells(const VersionRow& row, const std::string& variant, const char* version) {
  VersionCells cells{variant, version, row.status};
  for (std::size_t i = 0; i < kVersionQuantities.size(); ++i)
    cells.push_back(quantity_text(row, i));
  cells.push_back(row.bound_by);
  return cells;
}

/// Cells before those of the quantities.
constexpr std::ptrdiff_t kFirstQuantity = 3;

bool is_filled(const std::string& cell) {
  return !cell.empty();
}

VersionCells ratio_cells(const VersionRow& before, const VersionRow& now) {
  VersionCells cells{"", "ratio", ""};
  for (std::size_t i = 0; i < kVersionQuantities.size(); ++i)
    cells.push_back(version_ratio_text(before, now, i));
  return cells;
}

std::string notes_text(const std::vector<const VersionRow*>& rows) {
  std::vector<NamedText> reasons;
  std::vector<std::string> checked_at;
  for (const VersionRow* const row : rows) {
    if (!row->reason.empty()) add_name(reasons, row->reason, row->variant);
    const std::string& at = row->checked_at;
    if (!at.empty() && std::ranges::find(checked_at, at) == checked_at.end())
      checked_at.push_back(at);
  }
  std::string text;
  for (const auto& [reason, variants] : reasons)
    text += fmt::format("{}: {}\n", fmt::join(variants, ", "), reason);
  for (const std::string& at : checked_at)
    text += fmt::format("verified at {}\n", at);
  return text;
}

std::string table_of_problem(const std::vector<const VersionRow*>& rows,
                             const KernelVersion* before) {
  TextTable table;
  for (const char* const title : {"variant", "", "status"})
    table.add_column(title, Align::left);
  for (const VersionQuantity& quantity : kVersionQuantities)
    table.add_column(std::string(quantity.title), Align::right);
  table.add_column("bound by", Align::left);
  for (const VersionRow* const row : rows) {
    const VersionRow* const was = row_before(before, *row);
    if (!was || !has_changed_rows(*was, *row)) {
      table.add_row(version_cells(*row, row->variant, ""));
      continue;
    }
    table.add_row(version_cells(*was, row->variant, "before"));
    table.add_row(version_cells(*row, "", "now"));
    const VersionCells ratios = ratio_cells(*was, *row);
    if (std::ranges::any_of(ratios.begin() + kFirstQuantity, ratios.end(), is_filled))
      table.add_row(ratios);
  }
  return table.render() + notes_text(rows);
}

}  // namespace

std::string version_table_text(const KernelVersion& now, const KernelVersion* before,
                               const TerminalOptions& options) {
  std::vector<std::string> problems;
  for (const VersionRow& row : now.rows)
    if (std::ranges::find(problems, row.problem) == problems.end()) problems.push_back(row.problem);
  std::string text;
  for (const std::string& problem : problems) {
    std::vector<const VersionRow*> rows;
    for (const VersionRow& row : now.rows)
      if (row.problem == problem) rows.push_back(&row);
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n",
                        options.styled(options.text(problem), Style::bold),
                        options.text(table_of_problem(rows, before)));
  }
  return text;
}

}  // namespace gpuexp
