#include <optional>
#include <string>

#include "base/output.hpp"
#include "cli/app.hpp"
#include "cli/html_page.hpp"
#include "cli/results_file.hpp"
#include "render/markdown.hpp"
#include "render/page.hpp"
#include "render/report_document.hpp"
#include "render/terminal.hpp"
#include "results/csv_write.hpp"
#include "results/json_write.hpp"

namespace gpuexp::cli {

namespace {

struct ReportArguments {
  std::string file;
  std::string format = "table";
  std::optional<std::string> out;
  bool no_samples = false;
};

void write_report(const Context& context, const Report& report, const ReportArguments& options,
                  const WritePart& write) {
  if (options.format == "csv") {
    print_csv(report.table, write);
  } else if (options.format == "json") {
    print_json(report, write, {!options.no_samples});
  } else if (options.format == "markdown") {
    write(render_markdown(page_of(report)));
  } else if (options.format == "html") {
    write_html(html_page_of(context, report), write);
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
  Command* command = app.add_subcommand("report", "render results again");
  auto options = std::make_shared<ReportArguments>();
  command
      ->add_option(
          "results", options->file,
          "a results.json, compressed or not, or the folder of a run, of which the log is read")
      ->required();
  command
      ->add_option("--format", options->format,
                   "default table; html: one page with figures, sources and explanations, that "
                   "needs nothing else")
      ->one_of({"table", "csv", "markdown", "json", "html"});
  command
      ->add_option(
          "--out", options->out,
          "write to this file instead of to standard output; compressed if its name ends in .zst")
      ->type_name("FILE");
  command->add_flag("--no-samples", options->no_samples,
                    "leave raw samples, most of its bytes, out of --format json");
  command->footer(
      "example: gpuexp report results/matmul-20260101T120000Z/results.json --format markdown\n"
      "         gpuexp report results/matmul-20260101T120000Z --format html --out matmul.html");
  command->callback([&context, options] {
    context.action = [&context, options] { return run(context, *options); };
  });
}

}  // namespace gpuexp::cli
