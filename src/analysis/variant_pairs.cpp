#include "analysis/variant_pairs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

// "experiment/family/variant/parameters/mode" with another variant.
std::string key_with(const ResultRecord& row, const std::string& variant) {
  const std::string before = fmt::format("{}/{}/", row.experiment, row.family);
  const std::string own = before + row.variant + "/";
  if (row.key.compare(0, own.size(), own) != 0) {
    throw ReportError(fmt::format("the key '{}' is not that of '{}' in '{}'", row.key, row.variant,
                                  row.experiment));
  }
  return before + variant + "/" + row.key.substr(own.size());
}

std::vector<std::string> variants_of(const Report& report) {
  std::vector<std::string> names;
  for (const ResultRecord& row : report.table.rows) {
    if (std::find(names.begin(), names.end(), row.variant) == names.end())
      names.push_back(row.variant);
  }
  return names;
}

Report renamed(const Report& report, const char* which, const std::vector<VariantPair>& pairs,
               std::string VariantPair::*in_run) {
  Report kept = report;
  kept.table.rows.clear();
  kept.samples_us.clear();
  for (const VariantPair& pair : pairs) {
    bool is_there = false;
    for (std::size_t i = 0; i < report.table.rows.size(); ++i) {
      ResultRecord row = report.table.rows[i];
      if (row.variant != pair.*in_run) continue;
      is_there = true;
      const std::string name = fmt::format("{} → {}", pair.in_a, pair.in_b);
      row.key = key_with(row, name);
      row.variant = name;
      kept.table.rows.push_back(std::move(row));
      if (!report.samples_us.empty()) kept.samples_us.push_back(report.samples_us[i]);
    }
    if (!is_there) {
      throw ReportError(fmt::format("run {}: no row of variant '{}'; it has {}", which,
                                    pair.*in_run, fmt::join(variants_of(report), ", ")));
    }
  }
  return kept;
}

}  // namespace

std::vector<VariantPair> variant_pairs_of(const std::vector<std::string>& texts) {
  std::vector<VariantPair> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size() ||
        text.find('=', equals + 1) != std::string::npos) {
      throw ReportError(fmt::format("'{}' is no pair of variants, as in fused=triton", text));
    }
    pairs.push_back({text.substr(0, equals), text.substr(equals + 1)});
    const auto same = [&](const VariantPair& other) {
      return other.in_a == pairs.back().in_a && other.in_b == pairs.back().in_b;
    };
    if (std::count_if(pairs.begin(), pairs.end(), same) > 1)
      throw ReportError(fmt::format("'{}' is given twice", text));
  }
  return pairs;
}

std::pair<Report, Report> paired_by_variants(const Report& a, const Report& b,
                                             const std::vector<VariantPair>& pairs) {
  for (const auto& [report, which] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    if (!report->table.has(&ResultRecord::key))
      throw ReportError(fmt::format("run {}: no column 'key', by which rows are compared", which));
  }
  return {renamed(a, "A", pairs, &VariantPair::in_a), renamed(b, "B", pairs, &VariantPair::in_b)};
}

}  // namespace gpuexp
