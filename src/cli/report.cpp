#include <fmt/format.h>

#include "cli/app.hpp"
#include "report/csv.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/run_log.hpp"
#include "report/terminal.hpp"

namespace gpuexp::cli {

namespace {

struct Options {
  std::string file;
  std::string format = "table";
};

// What cannot be read is a mistake in the command line, as a config that cannot be.
Report read(const std::string& file) {
  try {
    const std::filesystem::path path(file);
    if (!std::filesystem::is_directory(path)) return read_report(file);
    return read_run_log(path / kRunLogName).report;
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

ExitCode run(const Options& options) {
  const Report report = read(options.file);
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
