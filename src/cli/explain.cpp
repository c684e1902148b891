#include <algorithm>
#include <set>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/explanation.hpp"
#include "analysis/predicted_difference.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/results_file.hpp"
#include "render/explanation_json.hpp"
#include "render/explanation_text.hpp"
#include "render/page.hpp"
#include "render/terminal.hpp"

namespace gpuexp::cli {

namespace {

constexpr const char* kOnlySlowest = "; the slowest problem of each variant (--all: every problem)";

struct ExplainArguments {
  std::string file;
  std::string family;
  std::string variant;
  bool all = false;
  bool json = false;
};

// Throws ConfigError if the results lack the name that --family or --variant gives.
void check_is_known(const char* option, std::string ResultRecord::*member, const std::string& name,
                    const std::vector<ExperimentResults>& experiments) {
  if (name.empty()) return;
  std::set<std::string> known;
  for (const ExperimentResults& e : experiments) {
    for (std::string& value : e.values(member))
      known.insert(std::move(value));
  }
  if (known.count(name) > 0) return;
  throw ConfigError(fmt::format("{} {}: these results contain no such {}{}", option, shorten(name),
                                fixed_column(member).name,
                                allowed_names(name, {known.begin(), known.end()})));
}

bool is_selected(const ResultRecord& row, const ExplainArguments& options) {
  return (options.family.empty() || row.family == options.family) &&
         (options.variant.empty() || row.variant == options.variant);
}

/// An experiment with its explanations or predicted differences.
template <class Result>
using ResultsOf = std::pair<ExperimentResults, std::vector<Result>>;

/// The selected results of explain(experiment), without experiments that have none.
template <class Result, class Explain>
std::vector<ResultsOf<Result>> selected(const RecordTable& table, const ExplainArguments& options,
                                        const Explain& explain) {
  std::vector<ExperimentResults> experiments = experiments_of(table);
  check_is_known("--family", &ResultRecord::family, options.family, experiments);
  check_is_known("--variant", &ResultRecord::variant, options.variant, experiments);
  std::vector<ResultsOf<Result>> kept;
  for (ExperimentResults& experiment : experiments) {
    std::vector<Result> results = explain(experiment);
    std::erase_if(results, [&](const Result& one) { return !is_selected(one.row(), options); });
    if (!results.empty()) kept.emplace_back(std::move(experiment), std::move(results));
  }
  return kept;
}

std::string nothing_text(const char* times) {
  return fmt::format(
      "nothing to explain: no comparison has {} times of both variants; gpuexp annotate shows "
      "where "
      "the time of one variant goes",
      times);
}

std::string summary_text(const std::vector<PredictedDifference>& all) {
  if (all.empty()) return nothing_text("predicted");
  return counted(all.size(), "predicted comparison");
}

std::string summary_text(const std::vector<Explanation>& all) {
  if (all.empty()) return nothing_text("measured");
  return summary_of(all);
}

template <class Result>
Page page_of(const Report& report, const std::vector<ResultsOf<Result>>& experiments, bool is_all) {
  Page page;
  page.head.push_back(fmt::format("{}", fmt::join(provenance_facts(report.provenance), " · ")));
  std::vector<Result> all;
  for (const auto& [experiment, results] : experiments) {
    ExperimentView& view = page.experiments.emplace_back(heading_of(experiment));
    for (const Result& one : results)
      view.explanations.push_back(printable(text_of(experiment, one)));
    all.insert(all.end(), results.begin(), results.end());
  }
  if constexpr (std::is_same_v<Result, Explanation>) {
    if (std::ranges::any_of(all, [](const Explanation& e) { return !e.counted; }))
      page.head.emplace_back(
          "note: rows without hardware counters are not explained; gpuexp run --counters reads "
          "them");
  } else {
    page.head.emplace_back(
        "note: counters are simulated and times are predicted; nothing was measured");
  }
  page.summary = summary_text(all);
  if (!all.empty() && !is_all) page.summary += kOnlySlowest;
  return page;
}

template <class Result>
void show(const Report& report, const std::vector<ResultsOf<Result>>& experiments,
          const ExplainArguments& options) {
  fmt::print("{}", options.json ? to_json(options.file, report.provenance.device.name, experiments)
                                : render_terminal(page_of(report, experiments, options.all),
                                                  terminal_options(stdout)));
}

ExitCode run(const ExplainArguments& options) {
  const Report report = read_results(options.file);
  if (report.provenance.device.is_simulated()) {
    const auto explain = [&](const auto& e) { return predicted_differences_of(e, options.all); };
    show(report, selected<PredictedDifference>(report.table, options, explain), options);
  } else {
    const ExplanationOptions how{rates_of(report), options.all};
    const auto explain = [&](const auto& e) { return explanations_of(e, how); };
    show(report, selected<Explanation>(report.table, options, explain), options);
  }
  return ExitCode::ok;
}

}  // namespace

void add_explain(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "explain", "why each variant is faster or slower than the variant it compares to");
  auto options = std::make_shared<ExplainArguments>();
  command
      ->add_option("results", options->file, "results.json or run folder of gpuexp run --counters")
      ->required();
  command->add_option("--family", options->family, "explain only this family");
  command->add_option("--variant", options->variant, "explain only this variant");
  command->add_flag("--all", options->all, "explain every problem, not only the slowest");
  command->add_flag("--json", options->json, "machine-readable");
  command->footer(
      "example: gpuexp run matmul --counters --out results/matmul\n"
      "         gpuexp explain results/matmul/results.json --variant coalesced");
  on_chosen(*command, context, [options] { return run(*options); });
}

}  // namespace gpuexp::cli
