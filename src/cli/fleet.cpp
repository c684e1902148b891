#include "cli/fleet.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/fleet_comparison.hpp"
#include "analysis/run_differences.hpp"
#include "base/csv.hpp"
#include "base/output.hpp"
#include "cli/results_file.hpp"
#include "render/fleet_page.hpp"

namespace gpuexp::cli {

namespace {

/// Names of the GPUs: of each part of merged results, else the one of the run.
std::set<std::string> gpu_names(const std::vector<Report>& reports) {
  std::set<std::string> names;
  for (const Report& report : reports) {
    for (const PartProvenance& part : report.provenance.parts)
      names.insert(part.gpu.value_or("an unknown GPU"));
    if (report.provenance.parts.empty())
      names.insert(report.provenance.device.name.value_or("an unknown GPU"));
  }
  return names;
}

// What differs beside the GPU, which is what is compared.
std::vector<std::string> notes_of(const std::vector<std::string>& files,
                                  const std::vector<Report>& reports,
                                  const std::set<std::string>& names) {
  std::vector<std::string> notes;
  if (names.size() > 1)
    notes.push_back(fmt::format("GPUs of several kinds: {}", fmt::join(names, ", ")));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].complete) notes.push_back(files[i] + " ended before its end");
    Provenance other = reports[i].provenance;
    other.device.name = reports.front().provenance.device.name;
    other.device.uuid = reports.front().provenance.device.uuid;
    for (const std::string& difference : differences(reports.front().provenance, other))
      notes.push_back(fmt::format("{} and {}: {}", files.front(), files[i], difference));
  }
  return notes;
}

// How many GPUs stand out by it.
std::size_t count_of(const FleetComparison& fleet, const std::string& gate) {
  return static_cast<std::size_t>(
      std::count_if(fleet.gpus.begin(), fleet.gpus.end(), [&](const FleetGpu& gpu) {
        return gate == "broken" ? gpu.not_passed > 0 : gate == name_of(gpu.verdict);
      }));
}

void check_gates(const std::vector<std::string>& fail_on) {
  for (const std::string& gate : fail_on) {
    if (gate == "slower" || gate == "faster" || gate == "broken") continue;
    throw ConfigError(fmt::format(
        "compare --across uuid --fail-on {}: allowed are slower, faster and broken", gate));
  }
}

void show(const FleetComparison& fleet, const FleetContext& context, const std::string& remark,
          const ComparisonOutput& output) {
  std::vector<std::string> head{fmt::format("{}", fmt::join(context.files, ", "))};
  for (const std::string& note : context.notes)
    head.push_back("note: " + note);
  head.push_back(fmt::format("min. effect: {} ({}){}{}", effect_text(context.effect),
                             context.effect_source, remark.empty() ? "" : "; ", remark));
  const Page page = page_of(fleet, std::move(head), output.all);
  fmt::print("{}", page_text(page, "GPUs of a fleet", output.format));
}

ExitCode gate(const FleetComparison& fleet, const std::vector<std::string>& fail_on) {
  std::vector<std::string> failed;
  for (const std::string& outcome : fail_on) {
    const std::size_t count = count_of(fleet, outcome);
    if (count > 0)
      failed.push_back(fmt::format("{} {} {}", count, count == 1 ? "GPU" : "GPUs", outcome));
  }
  if (failed.empty()) return ExitCode::ok;
  Output(stdout, "standard output").flush();
  fmt::print(stderr, "gpuexp: the comparison failed its gate (--fail-on {}): {}\n",
             fmt::join(fail_on, ","), fmt::join(failed, ", "));
  return ExitCode::regressed;
}

}  // namespace

ExitCode compare_across_gpus(const std::vector<std::string>& files,
                             const ComparisonOptions& options, const ComparisonOutput& output) {
  check_gates(options.fail_on);
  if (output.format == ComparisonFormat::junit)
    throw ConfigError("compare --across uuid --format junit: allowed are table, markdown and html");
  std::vector<Report> reports;
  for (const std::string& file : files) {
    reports.push_back(read_results(file));
    check_measured(file, reports.back());
  }
  std::vector<FleetResults> results;
  for (std::size_t i = 0; i < files.size(); ++i)
    results.push_back({files[i], reports[i]});
  const std::set<std::string> names = gpu_names(reports);
  const EffectInForce in_force =
      effect_in_force(options, names.size() == 1 ? std::optional(*names.begin()) : std::nullopt);
  FleetComparison fleet;
  try {
    fleet = compare_fleet(results, in_force.effect);
  } catch (const ReportError& e) {
    throw ConfigError(fmt::format("compare --across uuid: {}", e.what()));
  }
  const FleetContext context{files, in_force.effect, in_force.source,
                             notes_of(files, reports, names)};
  if (output.page && output.csv != "-" && output.json != "-")
    show(fleet, context, in_force.remark, output);
  write_text(output.csv, to_csv(fleet.table));
  write_text(output.json, to_json(fleet, context));
  return gate(fleet, options.fail_on);
}

}  // namespace gpuexp::cli
