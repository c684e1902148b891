#include <algorithm>

#include <fmt/format.h>

#include "analysis/run_comparison.hpp"
#include "analysis/run_differences.hpp"
#include "analysis/variant_pairs.hpp"
#include "base/output.hpp"
#include "cli/app.hpp"
#include "cli/comparison.hpp"
#include "cli/fleet.hpp"
#include "cli/results_file.hpp"
#include "stats/noise_file.hpp"

namespace gpuexp::cli {

namespace {

struct CompareArguments {
  std::vector<std::string> files;
  ComparisonOptions comparison;
  ComparisonOutput output;
  std::string format = "table";
  std::vector<std::string> variants;
  std::string across;
  bool calibrate = false;
  std::string out;
};

std::vector<Report> read_all(const std::vector<std::string>& files) {
  std::vector<Report> reports;
  for (const std::string& file : files)
    reports.push_back(read_results(file));
  return reports;
}

/// Those of --variants alone, where it is given.
std::vector<Report> with_variants(std::vector<Report> runs, const std::vector<std::string>& pairs) {
  if (pairs.empty()) return runs;
  try {
    auto [a, b] = paired_by_variants(runs.front(), runs.back(), variant_pairs_of(pairs));
    return {std::move(a), std::move(b)};
  } catch (const ReportError& e) {
    throw ConfigError(fmt::format("compare --variants: {}", e.what()));
  }
}

ExitCode compare(CompareArguments options) {
  if (options.output.csv == "-" && options.output.json == "-")
    throw ConfigError("compare: --csv - and --json -: standard output takes one of them");
  if (options.format == "markdown") options.output.format = ComparisonFormat::markdown;
  if (options.format == "html") options.output.format = ComparisonFormat::html;
  if (options.format == "junit") options.output.format = ComparisonFormat::junit;
  if (!options.across.empty())
    return compare_across_gpus(options.files, options.comparison, options.output);
  if (options.files.size() != 2) {
    throw ConfigError(fmt::format("compare: {} {} given; two are compared, A and B",
                                  options.files.size(),
                                  options.files.size() == 1 ? "file" : "files"));
  }
  const std::vector<Report> runs = with_variants(read_all(options.files), options.variants);
  return compare_and_show({options.files.front(), runs.front()},
                          {options.files.back(), runs.back()}, options.comparison, options.output);
}

// Runs that differ in more than when they ran say nothing of noise.
void check_repeated(const std::vector<std::string>& files, const std::vector<Report>& runs) {
  for (std::size_t b = 1; b < runs.size(); ++b) {
    const auto notes = differences(runs.front().provenance, runs[b].provenance);
    if (!notes.empty()) {
      throw ConfigError(fmt::format("compare --calibrate: {} and {} are not runs of the same: {}",
                                    files.front(), files[b], fmt::join(notes, "; ")));
    }
    for (std::size_t a = 0; a < b; ++a) {
      if (runs[a].samples_us != runs[b].samples_us) continue;
      throw ConfigError(
          fmt::format("compare --calibrate: {} and {} are one run", files[a], files[b]));
    }
  }
}

NoiseFile calibrated(const std::vector<Report>& runs) {
  const std::vector<RepeatedCell> cells = repeated_cells(runs);
  NoiseFile noise;
  noise.runs = runs.size();
  noise.pairs = runs.size() * (runs.size() - 1) / 2;
  noise.comparisons = cells.size();
  noise.cells = cells.size() / noise.pairs;
  try {
    noise.calibration = calibrate(cells, noise.cells * (noise.runs - 1));
  } catch (const std::invalid_argument& e) {
    throw ConfigError(fmt::format("compare --calibrate: {}", e.what()));
  }
  const Provenance& p = runs.front().provenance;
  noise.device = p.device.name;
  noise.git_commit = p.git_commit;
  noise.driver_version = p.device.driver_version;
  noise.cuda_toolkit = p.cuda_toolkit;
  for (const Report& run : runs)
    noise.utc = std::max(noise.utc, run.provenance.utc);
  return noise;
}

ExitCode calibrate_runs(const CompareArguments& options) {
  if (options.files.size() < 2 || options.out.empty())
    throw ConfigError("compare --calibrate: needs two runs of one binary or more, and --out FILE");
  const std::vector<Report> runs = read_all(options.files);
  for (std::size_t i = 0; i < runs.size(); ++i)
    check_measured(options.files[i], runs[i]);
  check_repeated(options.files, runs);
  const NoiseFile noise = calibrated(runs);
  const Calibration& c = noise.calibration;
  write_file_atomically(options.out, to_json(noise));
  fmt::print(
      "{}: min. effect {}, from {} cells in {} runs\n"
      "of {} comparisons {} would have been false verdicts without it and {} with it; rate at most "
      "{:.2g} % with 95 % confidence{}\n",
      noise.device.value_or("unknown GPU"), effect_text(c.effect), noise.cells, noise.runs,
      noise.comparisons, c.false_without, c.false_with, 100 * c.rate_bound,
      c.margin > 1
          ? fmt::format(" before a margin of {:.2f} was put on for want of cells", c.margin)
          : "");
  return ExitCode::ok;
}

}  // namespace

void add_compare(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "compare", "two runs row by row: what became slower, faster or broken from A to B");
  auto options = std::make_shared<CompareArguments>();
  command
      ->add_option("results", options->files,
                   "a results.json of A, one of B; with --across one or more, merged or not")
      ->required();
  command->add_flag("--all", options->output.all, "show rows that are the same, too");
  command
      ->add_option(
          "--format", options->format,
          "default table; html: one page that needs nothing else; junit: XML for CI systems, "
          "a test case for each row")
      ->one_of({"table", "markdown", "html", "junit"});
  command
      ->add_option("--csv", options->output.csv,
                   "write every row as CSV; - for standard output alone")
      ->type_name("FILE");
  command->add_option("--json", options->output.json, "write everything as JSON; - likewise")
      ->type_name("FILE");
  Option* variants = command
                         ->add_option("--variants", options->variants,
                                      "hold a variant of A against another one of B: fused=triton")
                         ->delimiter(',')
                         ->allow_extra_args(false)
                         ->type_name("A=B[,...]");
  Option* across =
      command
          ->add_option("--across", options->across,
                       "uuid: hold the GPUs of these results against each other, each against the "
                       "fleet's median time of every cell, and say which stand out; --fail-on "
                       "slower, faster and broken are then of GPUs")
          ->one_of({"uuid"});
  across->excludes(variants);
  options->comparison.add_to(*command);
  auto* calibrate =
      command->add_flag("--calibrate", options->calibrate,
                        "find the minimum effect from runs of one binary, each its own process");
  calibrate->excludes(variants);
  calibrate->excludes(across);
  command->add_option("--out", options->out, "with --calibrate: the file for --noise")
      ->type_name("FILE")
      ->needs(calibrate);
  command->footer(
      "example: gpuexp compare before/results.json after/results.json --fail-on slower,broken\n"
      "         gpuexp compare fusion.json pytorch.json --variants fused=triton,ops=pytorch_eager\n"
      "         gpuexp compare --across uuid node*/results.json --fail-on slower,broken\n"
      "         gpuexp compare --calibrate 1.json 2.json 3.json --out configs/noise/h200.json");
  command->callback([&context, options] {
    context.action = [options] {
      return options->calibrate ? calibrate_runs(*options) : compare(*options);
    };
  });
}

}  // namespace gpuexp::cli
