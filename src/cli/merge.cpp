#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/recorder.hpp"
#include "results/run_merge.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

struct MergeArguments {
  std::vector<std::string> folders;
  std::string out;
  bool partial = false;
  bool no_samples = false;
};

std::vector<RunPart> read_parts(const std::vector<std::string>& folders) {
  if (folders.size() < 2) {
    throw ConfigError(
        fmt::format("merge {}: found one folder; expected two or more, of a run's shards or of "
                    "whole runs on several GPUs",
                    fmt::join(folders, " ")));
  }
  std::vector<RunPart> parts;
  std::set<fs::path> known;
  for (const std::string& folder : folders) {
    std::error_code unknown;
    if (fs::is_regular_file(folder, unknown)) {
      throw ConfigError(fmt::format(
          "merge {}: is a file; expected the folder of a run, which gpuexp run writes", folder));
    }
    const fs::path log = fs::path(folder) / kRunLogName;
    if (is_missing(log))
      throw ConfigError(fmt::format("merge {}: the folder has no {}", folder, kRunLogName));
    parts.push_back({folder, read_run_log(log)});
    if (!known.insert(fs::canonical(log)).second)
      throw ConfigError(fmt::format("merge {}: this folder is given twice", folder));
  }
  return parts;
}

MergedRuns merged(const std::vector<std::string>& folders) {
  try {
    return merge_runs(read_parts(folders));
  } catch (const ReportError& e) {
    throw ConfigError(fmt::format("merge: {}", e.what()));
  }
}

std::size_t different(const Report& report, std::optional<std::string> PartProvenance::*member) {
  std::set<std::optional<std::string>> values;
  for (const PartProvenance& part : report.provenance.parts)
    values.insert(part.*member);
  return values.size();
}

ExitCode merge(const Context& context, const MergeArguments& options) {
  MergedRuns runs = merged(options.folders);
  Report& report = runs.report;
  for (const std::string& note : runs.notes)
    fmt::print(stderr, "gpuexp: {}\n", note);
  if (!report.complete && !options.partial) {
    throw ConfigError(
        fmt::format("merge: {}; nothing was written. --partial writes the results that exist",
                    fmt::join(runs.missing, "; ")));
  }
  for (const std::string& what : runs.missing)
    fmt::print(stderr, "gpuexp: {}\n", what);
  report.provenance.argv = context.argv;
  const fs::path folder = claimed_folder(
      options.out, report.provenance.config.name.value_or("merged"), std::time(nullptr));
  write_results(report, folder, {!options.no_samples});
  const bool simulated = report.provenance.device.is_simulated();
  fmt::print("{} of {}, from {}{}; results are in {}\n", counted(report.table.rows.size(), "row"),
             counted(report.provenance.parts.size(), "part"),
             counted(different(report, &PartProvenance::host), "host"),
             simulated ? ", simulated"
                       : " and " + counted(different(report, &PartProvenance::gpu_uuid), "GPU"),
             folder.string());
  const ExitCode code = exit_code_of(report);
  return report.complete || code != ExitCode::ok ? code : ExitCode::failed;
}

}  // namespace

void add_merge(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "merge", "merge the shards of a run, or whole runs on several GPUs, into one result");
  auto options = std::make_shared<MergeArguments>();
  command
      ->add_option("folders", options->folders,
                   "run folders, whose logs are read; of a shard that ran more than once, a "
                   "finished run is preferred, then the run that ended last")
      ->required();
  command->add_option("--out", options->out,
                      "folder for results.csv, results.json and, if counters were read, "
                      "kernels.csv (default: results/NAME-UTC)");
  command->add_flag("--partial", options->partial,
                    "write partial results if shards or cells are missing; exit code 4");
  command->add_flag("--no-samples", options->no_samples, "leave raw samples out of the JSON");
  command->footer(
      "example: gpuexp merge shards/* --out merged\n"
      "exit codes: 0 all cells that ran passed, 2 the folders are not parts of one run, or parts "
      "are missing, 3 incorrect results, 4 failed or missing cells, or no cell passed");
  on_chosen(*command, context, [&context, options] { return merge(context, *options); });
}

}  // namespace gpuexp::cli
