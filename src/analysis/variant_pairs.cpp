#include "analysis/variant_pairs.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

// The row's key with another variant; keys are "experiment/family/variant/parameters/mode".
std::string key_with(const ResultRecord& row, const std::string& variant) {
  const std::string before = fmt::format("{}/{}/", row.experiment, row.family);
  const std::string own = before + row.variant + "/";
  if (row.key.compare(0, own.size(), own) != 0) {
    throw ReportError(fmt::format("the key '{}' does not belong to variant '{}' of experiment '{}'",
                                  row.key, row.variant, row.experiment));
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

std::set<std::string> families_with(const Report& report, const char* which,
                                    const std::string& variant) {
  std::set<std::string> families;
  for (const ResultRecord& row : report.table.rows) {
    if (row.variant == variant) families.insert(row.family);
  }
  if (families.empty()) {
    throw ReportError(fmt::format("run {}: no row of variant '{}'; expected one of: {}", which,
                                  variant, fmt::join(variants_of(report), ", ")));
  }
  return families;
}

// The families that have the pair's first variant in A and its second variant in B.
std::set<std::string> families_of(const VariantPair& pair, const Report& a, const Report& b) {
  const auto in_a = families_with(a, "A", pair.in_a);
  const auto in_b = families_with(b, "B", pair.in_b);
  std::set<std::string> both;
  std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                        std::inserter(both, both.end()));
  if (both.empty()) {
    throw ReportError(fmt::format("no common family: '{}' in A is of {}, '{}' in B of {}",
                                  pair.in_a, fmt::join(in_a, ", "), pair.in_b,
                                  fmt::join(in_b, ", ")));
  }
  return both;
}

void add_renamed(const Report& report, const std::string& variant, const std::string& name,
                 const std::set<std::string>& families, Report& to) {
  for (std::size_t i = 0; i < report.table.rows.size(); ++i) {
    ResultRecord row = report.table.rows[i];
    if (row.variant != variant || families.count(row.family) == 0) continue;
    row.key = key_with(row, name);
    row.variant = name;
    to.table.rows.push_back(std::move(row));
    if (!report.samples_us.empty()) to.samples_us.push_back(report.samples_us[i]);
  }
}

Report without_rows(const Report& report) {
  Report kept = report;
  kept.table.rows.clear();
  kept.samples_us.clear();
  return kept;
}

}  // namespace

std::vector<VariantPair> variant_pairs_of(const std::vector<std::string>& texts) {
  std::vector<VariantPair> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size() ||
        text.find('=', equals + 1) != std::string::npos) {
      throw ReportError(
          fmt::format("'{}' is not a pair of variants; expected X=Y, such as fused=triton", text));
    }
    pairs.push_back({text.substr(0, equals), text.substr(equals + 1)});
    const auto same = [&](const VariantPair& other) {
      return other.in_a == pairs.back().in_a && other.in_b == pairs.back().in_b;
    };
    if (std::ranges::count_if(pairs, same) > 1)
      throw ReportError(fmt::format("'{}' is given twice", text));
  }
  return pairs;
}

std::pair<Report, Report> paired_by_variants(const Report& a, const Report& b,
                                             const std::vector<VariantPair>& pairs) {
  for (const auto& [report, which] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    if (!report->table.has(&ResultRecord::key))
      throw ReportError(
          fmt::format("run {}: no column 'key'; it is needed to compare rows", which));
  }
  std::pair<Report, Report> paired{without_rows(a), without_rows(b)};
  for (const VariantPair& pair : pairs) {
    const auto families = families_of(pair, a, b);
    const std::string name = fmt::format("{} → {}", pair.in_a, pair.in_b);
    add_renamed(a, pair.in_a, name, families, paired.first);
    add_renamed(b, pair.in_b, name, families, paired.second);
  }
  return paired;
}

}  // namespace gpuexp
