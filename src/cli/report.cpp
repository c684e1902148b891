#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/output.hpp"
#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/results_file.hpp"
#include "render/markdown.hpp"
#include "render/page.hpp"
#include "render/report_document.hpp"
#include "render/terminal.hpp"
#include "results/csv_write.hpp"
#include "results/declarations.hpp"
#include "results/json_write.hpp"

namespace gpuexp::cli {

namespace {

struct ReportArguments {
  std::string file;
  std::string format = "table";
  std::optional<std::string> out;
  bool no_samples = false;
};

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

// A note if the results are from another commit, so that source lines may differ.
std::string note_on_sources(const Provenance& p) {
  const std::string own(build_info::git_commit);
  if (!p.git_commit || own.empty() || own == *p.git_commit) return "";
  constexpr std::size_t kShort = 12;
  return fmt::format(
      "Texts and sources are from the program that wrote this page (commit {}); the results are "
      "from commit {}.",
      own.substr(0, kShort), p.git_commit->substr(0, kShort));
}

// Shows the machine code for the report's GPU, and each variant at its slowest problem.
ReportDocument document_of(const Context& context, const Report& report) {
  ReportDocument page{report, context.registry, rates_of(report)};
  page.sources_note = note_on_sources(report.provenance);
  const auto& device = report.provenance.device.name;
  const auto spec = device ? spec_of_name(*device) : std::nullopt;
  std::size_t count = 0;
  const SourceText* const texts = kernel_source_table(count);
  const VariantSources sources(texts, count, context.resources);
  for (const auto& [name, row] : longest_rows(report.table)) {
    const Family* family = context.registry.find(name.first);
    const Variant* variant = family ? family->find(name.second) : nullptr;
    if (!variant) continue;
    const auto problem = problem_of(*family, row->parameters);
    page.sources[name] = sources.of(*family, *variant, problem.get(), spec ? &spec->spec : nullptr);
  }
  return page;
}

void write_report(const Context& context, const Report& report, const ReportArguments& options,
                  const WritePart& write) {
  if (options.format == "csv") {
    print_csv(report.table, write);
  } else if (options.format == "json") {
    print_json(report, write, {!options.no_samples});
  } else if (options.format == "markdown") {
    write(render_markdown(page_of(report)));
  } else if (options.format == "html") {
    write_html(document_of(context, report), write);
  } else {
    write(render_terminal(page_of(report),
                          options.out ? TerminalOptions() : terminal_options(stdout)));
  }
}

ExitCode run(const Context& context, const ReportArguments& options) {
  if (options.no_samples && options.format != "json")
    throw ConfigError("--no-samples: only --format json holds raw samples");
  const Report report = read_results(options.file);
  if (options.out) {
    write_file_atomically(*options.out, [&](const WritePart& write) {
      write_report(context, report, options, write);
    });
    return ExitCode::ok;
  }
  Output out(stdout, "standard output");
  write_report(context, report, options, [&](std::string_view part) { out.write(part); });
  out.close();
  return ExitCode::ok;
}

}  // namespace

void add_report(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "report", "render recorded results as a table, CSV, Markdown, JSON or HTML");
  auto options = std::make_shared<ReportArguments>();
  command
      ->add_option("results", options->file,
                   "results.json, compressed or not, or a run folder, whose log is read")
      ->required();
  command
      ->add_option("--format", options->format,
                   "output format (default: table); html: one self-contained page with figures, "
                   "sources and explanations")
      ->check(CLI::IsMember({"table", "csv", "markdown", "json", "html"}));
  command
      ->add_option("--out", options->out,
                   "output file, compressed if its name ends in .zst (default: standard output)")
      ->type_name("FILE");
  command->add_flag("--no-samples", options->no_samples,
                    "with --format json: leave out raw samples, which take most of the space");
  command->footer(
      "example: gpuexp report results/matmul-20260101T120000Z/results.json --format markdown\n"
      "         gpuexp report results/matmul-20260101T120000Z --format html --out matmul.html");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
