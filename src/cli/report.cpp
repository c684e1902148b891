#include <fmt/format.h>

#include "cli/app.hpp"
#include "cli/results_file.hpp"
#include "report/csv.hpp"
#include "report/markdown.hpp"
#include "report/terminal.hpp"

namespace gpuexp::cli {

namespace {

struct Options {
  std::string file;
  std::string format = "table";
};

ExitCode run(const Options& options) {
  const Report report = read_results(options.file);
  if (options.format == "csv") {
    fmt::print("{}", to_csv(report.table));
  } else if (options.format == "markdown") {
    fmt::print("{}", render_markdown(report));
  } else {
    fmt::print("{}", render_terminal(report, terminal_options(stdout)));
  }
  return ExitCode::ok;
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("report", "render results again");
  auto options = std::make_shared<Options>();
  command
      ->add_option("results", options->file,
                   "a results.json, or the folder of a run, of which the log is read")
      ->required();
  command->add_option("--format", options->format, "default table")
      ->check(CLI::IsMember({"table", "csv", "markdown"}));
  command->footer(
      "example: gpuexp report results/matmul-20260101T120000Z/results.json --format markdown");
  command->callback([&context, options] { context.action = [options] { return run(*options); }; });
}

}  // namespace gpuexp::cli
