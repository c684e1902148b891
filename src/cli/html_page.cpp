#include "cli/html_page.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "build_info.hpp"
#include "cli/results_file.hpp"
#include "results/declarations.hpp"

namespace gpuexp::cli {

namespace {

std::optional<DeviceSpec> spec_of(const Report& report) {
  const auto directory = find_config_dir();
  const auto& name = report.provenance.device.name;
  if (!directory || !name) return std::nullopt;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* found = match_device_name(specs, *name);
  return found ? std::optional(found->spec) : std::nullopt;
}

double time_of(const ResultRecord& row) {
  return row.time_us().value_or(row.predicted_time_us.value_or(0));
}

using VariantName = std::pair<std::string, std::string>;

std::map<VariantName, const ResultRecord*> longest_rows(const RecordTable& table) {
  std::map<VariantName, const ResultRecord*> longest;
  for (const ResultRecord& row : table.rows) {
    const auto [found, is_new] = longest.try_emplace({row.family, row.variant}, &row);
    if (!is_new && time_of(row) > time_of(*found->second)) found->second = &row;
  }
  return longest;
}

// Where lines may have changed since what is shown was measured.
std::string note_on_sources(const Provenance& p) {
  const std::string own(build_info::git_commit);
  if (!p.git_commit || own.empty() || own == *p.git_commit) return "";
  constexpr std::size_t kShort = 12;
  return fmt::format(
      "Texts and sources are those of the program that made this page (commit {}); "
      "the results are of commit {}.",
      own.substr(0, kShort), p.git_commit->substr(0, kShort));
}

}  // namespace

ReportDocument html_page_of(const Context& context, const Report& report) {
  ReportDocument page{report, context.registry, rates_of(report)};
  page.sources_note = note_on_sources(report.provenance);
  const auto spec = spec_of(report);
  std::size_t count = 0;
  const SourceText* const texts = kernel_source_table(count);
  const VariantSources sources(texts, count, context.resources);
  for (const auto& [name, row] : longest_rows(report.table)) {
    const Family* family = context.registry.find(name.first);
    const Variant* variant = family ? family->find(name.second) : nullptr;
    if (!variant) continue;
    const auto problem = problem_of(*family, row->parameters);
    page.sources[name] = sources.of(*family, *variant, problem.get(), spec ? &*spec : nullptr);
  }
  return page;
}

}  // namespace gpuexp::cli
