#include <algorithm>
#include <set>

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

constexpr const char* kOfLongest =
    "; of each variant the problem that takes longest (--all: every one)";

struct ExplainArguments {
  std::string file;
  std::string family;
  std::string variant;
  bool all = false;
  bool json = false;
};

// What --family or --variant names has to be in the results, or be a mistake.
void check_is_there(const char* option, std::string ResultRecord::*member, const std::string& name,
                    const std::vector<ExperimentResults>& experiments) {
  if (name.empty()) return;
  std::set<std::string> known;
  for (const ExperimentResults& e : experiments) {
    for (std::string& value : e.values(member))
      known.insert(std::move(value));
  }
  if (known.count(name) > 0) return;
  throw ConfigError(fmt::format("{} {}: no {} of these results{}", option, shorten(name),
                                fixed_column(member).name,
                                allowed_names(name, {known.begin(), known.end()})));
}

bool is_wanted(const ResultRecord& row, const ExplainArguments& options) {
  return (options.family.empty() || row.family == options.family) &&
         (options.variant.empty() || row.variant == options.variant);
}

/// Experiments that something wanted is said of, by of(experiment); row(one of them) is its row.
template <class Of, class Row>
auto wanted(const RecordTable& table, const ExplainArguments& options, const Of& of,
            const Row& row) {
  std::vector<ExperimentResults> experiments = experiments_of(table);
  check_is_there("--family", &ResultRecord::family, options.family, experiments);
  check_is_there("--variant", &ResultRecord::variant, options.variant, experiments);
  std::vector<std::pair<ExperimentResults, decltype(of(experiments.front()))>> kept;
  for (ExperimentResults& experiment : experiments) {
    auto said = of(experiment);
    std::erase_if(said, [&](const auto& one) { return !is_wanted(row(one), options); });
    if (!said.empty()) kept.emplace_back(std::move(experiment), std::move(said));
  }
  return kept;
}

std::vector<ExplainedExperiment> explained(const RecordTable& table,
                                           const ExplainArguments& options,
                                           const ExplanationOptions& how) {
  return wanted(
      table, options, [&](const ExperimentResults& e) { return explanations_of(e, how); },
      [](const Explanation& e) -> const ResultRecord& { return e.row(); });
}

std::string summary_of_predicted(std::size_t count) {
  if (count == 0)
    return "nothing to explain: no variant has a predicted time beside the one that it compares to";
  return fmt::format("{} predicted {}", count, count == 1 ? "comparison" : "comparisons");
}

// Of each variant, or of the one asked for.
std::vector<PredictedExperiment> predicted(const RecordTable& table,
                                           const ExplainArguments& options) {
  return wanted(
      table, options,
      [&](const ExperimentResults& e) { return predicted_differences_of(e, options.all); },
      [](const PredictedDifference& d) -> const ResultRecord& { return *d.row; });
}

Page page_of_predicted(const Report& report, const std::vector<PredictedExperiment>& experiments,
                       const ExplainArguments& options) {
  Page page;
  page.head.push_back(fmt::format("{}", fmt::join(provenance_facts(report.provenance), " · ")));
  std::size_t count = 0;
  for (const auto& [experiment, differences] : experiments) {
    ExperimentView& view = page.experiments.emplace_back(heading_of(experiment));
    for (const PredictedDifference& d : differences)
      view.explanations.push_back(printable(text_of(experiment, d)));
    count += differences.size();
  }
  page.summary = summary_of_predicted(count);
  if (count > 0 && !options.all) page.summary += kOfLongest;
  return page;
}

Page page_of(const Report& report, const std::vector<ExplainedExperiment>& experiments,
             bool is_all) {
  Page page;
  page.head.push_back(fmt::format("{}", fmt::join(provenance_facts(report.provenance), " · ")));
  std::vector<Explanation> all;
  bool is_counted = true;
  for (const auto& [experiment, explanations] : experiments) {
    ExperimentView& view = page.experiments.emplace_back(heading_of(experiment));
    for (const Explanation& e : explanations) {
      view.explanations.push_back(printable(text_of(experiment, e)));
      is_counted = is_counted && e.counted;
      all.push_back(e);
    }
  }
  if (!is_counted) {
    page.head.emplace_back(
        "note: rows without hardware counters are not explained; gpuexp run --counters reads them");
  }
  page.summary = all.empty() ? "nothing to explain: no variant was timed beside the one that it "
                               "compares to"
                             : summary_of(all);
  if (!all.empty() && !is_all) page.summary += kOfLongest;
  return page;
}

ExitCode run(const ExplainArguments& options) {
  const Report report = read_results(options.file);
  if (report.provenance.device.is_simulated()) {
    const auto experiments = predicted(report.table, options);
    if (options.json) {
      fmt::print("{}", to_json(options.file, report.provenance.device.name, experiments));
    } else {
      fmt::print("{}", render_terminal(page_of_predicted(report, experiments, options),
                                       terminal_options(stdout)));
    }
    return ExitCode::ok;
  }
  ExplanationOptions how;
  how.rates = rates_of(report);
  how.all_problems = options.all;
  const auto experiments = explained(report.table, options, how);
  if (options.json) {
    fmt::print("{}", to_json(options.file, report.provenance.device.name, experiments));
  } else {
    fmt::print(
        "{}", render_terminal(page_of(report, experiments, options.all), terminal_options(stdout)));
  }
  return ExitCode::ok;
}

}  // namespace

void add_explain(Command& app, Context& context) {
  Command* command =
      app.add_subcommand("explain", "why variants are faster or slower than those they compare to");
  auto options = std::make_shared<ExplainArguments>();
  command
      ->add_option("results", options->file,
                   "a results.json of run --counters, or the folder of a run")
      ->required();
  command->add_option("--family", options->family, "of this family alone");
  command->add_option("--variant", options->variant, "of this variant alone");
  command->add_flag("--all", options->all,
                    "at every problem, not at the one that takes longest alone");
  command->add_flag("--json", options->json, "machine-readable");
  command->footer(
      "example: gpuexp run matmul --counters --out results/matmul\n"
      "         gpuexp explain results/matmul/results.json --variant coalesced");
  on_chosen(*command, context, [options] { return run(*options); });
}

}  // namespace gpuexp::cli
