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

constexpr const char* kOfLongest = "; the slowest problem of each variant (--all: every problem)";

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
  throw ConfigError(fmt::format("{} {}: these results contain no such {}{}", option, shorten(name),
                                fixed_column(member).name,
                                allowed_names(name, {known.begin(), known.end()})));
}

bool is_wanted(const ResultRecord& row, const ExplainArguments& options) {
  return (options.family.empty() || row.family == options.family) &&
         (options.variant.empty() || row.variant == options.variant);
}

/// What is said of the rows of one experiment: explanations or predicted differences.
template <class Said>
using SaidOf = std::pair<ExperimentResults, std::vector<Said>>;

/// Experiments that something wanted is said of, by of(experiment).
template <class Said, class Of>
std::vector<SaidOf<Said>> wanted(const RecordTable& table, const ExplainArguments& options,
                                 const Of& of) {
  std::vector<ExperimentResults> experiments = experiments_of(table);
  check_is_there("--family", &ResultRecord::family, options.family, experiments);
  check_is_there("--variant", &ResultRecord::variant, options.variant, experiments);
  std::vector<SaidOf<Said>> kept;
  for (ExperimentResults& experiment : experiments) {
    std::vector<Said> said = of(experiment);
    std::erase_if(said, [&](const Said& one) { return !is_wanted(one.row(), options); });
    if (!said.empty()) kept.emplace_back(std::move(experiment), std::move(said));
  }
  return kept;
}

std::string summary_text(const std::vector<PredictedDifference>& all) {
  if (all.empty()) return "nothing to explain: no comparison has predicted times of both variants";
  return counted(all.size(), "predicted comparison");
}

std::string summary_text(const std::vector<Explanation>& all) {
  if (all.empty()) return "nothing to explain: no comparison has measured times of both variants";
  return summary_of(all);
}

template <class Said>
Page page_of(const Report& report, const std::vector<SaidOf<Said>>& experiments, bool is_all) {
  Page page;
  page.head.push_back(fmt::format("{}", fmt::join(provenance_facts(report.provenance), " · ")));
  std::vector<Said> all;
  for (const auto& [experiment, said] : experiments) {
    ExperimentView& view = page.experiments.emplace_back(heading_of(experiment));
    for (const Said& one : said)
      view.explanations.push_back(printable(text_of(experiment, one)));
    all.insert(all.end(), said.begin(), said.end());
  }
  if constexpr (std::is_same_v<Said, Explanation>) {
    if (std::ranges::any_of(all, [](const Explanation& e) { return !e.counted; }))
      page.head.emplace_back(
          "note: rows without hardware counters are not explained; gpuexp run --counters reads "
          "them");
  }
  page.summary = summary_text(all);
  if (!all.empty() && !is_all) page.summary += kOfLongest;
  return page;
}

template <class Said>
void show(const Report& report, const std::vector<SaidOf<Said>>& experiments,
          const ExplainArguments& options) {
  fmt::print("{}", options.json ? to_json(options.file, report.provenance.device.name, experiments)
                                : render_terminal(page_of(report, experiments, options.all),
                                                  terminal_options(stdout)));
}

ExitCode run(const ExplainArguments& options) {
  const Report report = read_results(options.file);
  if (report.provenance.device.is_simulated()) {
    const auto of = [&](const auto& e) { return predicted_differences_of(e, options.all); };
    show(report, wanted<PredictedDifference>(report.table, options, of), options);
  } else {
    const ExplanationOptions how{rates_of(report), options.all};
    const auto of = [&](const auto& e) { return explanations_of(e, how); };
    show(report, wanted<Explanation>(report.table, options, of), options);
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
