
#include "cli/app.hpp"
#include "cli/results_file.hpp"
#include "render/markdown.hpp"
#include "render/terminal.hpp"
#include "results/csv_write.hpp"
#include "results/declarations.hpp"
#include "results/json_write.hpp"

namespace gpuexp::cli {

namespace {

struct ReportArguments {
  std::string file;
  std::string format = "table";
  bool no_samples = false;
};

ExitCode run(const Context& context, const ReportArguments& options) {
  if (options.no_samples && options.format != "json")
    throw ConfigError("--no-samples: only --format json holds raw samples");
  Report report = read_results(options.file);
  add_declarations(report.table, context.registry);
  Output out(stdout, "standard output");
  const auto write = [&](std::string_view part) { out.write(part); };
  if (options.format == "csv") {
    print_csv(report.table, write);
  } else if (options.format == "json") {
    print_json(report, write, {!options.no_samples});
  } else if (options.format == "markdown") {
    write(render_markdown(report));
  } else {
    write(render_terminal(report, terminal_options(stdout)));
  }
  out.close();
  return ExitCode::ok;
}

}  // namespace

void add_report(Command& app, Context& context) {
  Command* command = app.add_subcommand("report", "render results again");
  auto options = std::make_shared<ReportArguments>();
  command
      ->add_option("results", options->file,
                   "a results.json, or the folder of a run, of which the log is read")
      ->required();
  command->add_option("--format", options->format, "default table")
      ->one_of({"table", "csv", "markdown", "json"});
  command->add_flag("--no-samples", options->no_samples,
                    "leave raw samples, most of its bytes, out of --format json");
  command->footer(
      "example: gpuexp report results/matmul-20260101T120000Z/results.json --format markdown");
  command->callback([&context, options] {
    context.action = [&context, options] { return run(context, *options); };
  });
}

}  // namespace gpuexp::cli
