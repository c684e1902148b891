#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/compared_row.hpp"
#include "analysis/fleet_comparison.hpp"
#include "analysis/run_comparison.hpp"
#include "analysis/variant_pairs.hpp"
#include "base/csv.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/command_copy.hpp"
#include "cli/comparison.hpp"
#include "cli/results_file.hpp"
#include "cli/source_comparison.hpp"
#include "render/fleet_page.hpp"
#include "stats/calibration.hpp"

namespace gpuexp::cli {

namespace {

std::set<std::string> gpu_names(const std::vector<Report>& reports) {
  std::set<std::string> names;
  for (const Report& report : reports) {
    for (const PartProvenance& part : report.provenance.parts)
      names.insert(part.gpu.value_or("an unknown GPU"));
    if (report.provenance.parts.empty())
      names.insert(report.provenance.device.name.value_or("an unknown GPU"));
  }
  return names;
}

std::vector<std::string> notes_of(const std::vector<std::string>& files,
                                  const std::vector<Report>& reports,
                                  const std::set<std::string>& names) {
  std::vector<std::string> notes;
  if (names.size() > 1)
    notes.push_back(fmt::format("GPUs of several kinds: {}", fmt::join(names, ", ")));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].complete) notes.push_back(files[i] + " is incomplete: the run ended early");
    Provenance other = reports[i].provenance;
    other.device.name = reports.front().provenance.device.name;
    other.device.uuid = reports.front().provenance.device.uuid;
    for (const std::string& difference : differences(reports.front().provenance, other))
      notes.push_back(fmt::format("{} and {}: {}", files.front(), files[i], difference));
  }
  return notes;
}

std::size_t count_of(const FleetComparison& fleet, const std::string& gate) {
  return static_cast<std::size_t>(std::ranges::count_if(fleet.gpus, [&](const FleetGpu& gpu) {
    return gate == "broken" ? gpu.not_passed > 0 : gate == name_of(gpu.verdict);
  }));
}

void check_gates(const std::vector<std::string>& fail_on) {
  for (const std::string& gate : fail_on) {
    if (gate == "slower" || gate == "faster" || gate == "broken") continue;
    throw ConfigError(
        fmt::format("compare --across uuid --fail-on {}: allowed: slower, faster, broken", gate));
  }
}

void show(const FleetComparison& fleet, const FleetContext& context, const std::string& remark,
          const ComparisonOutput& output) {
  std::vector<std::string> head{fmt::format("{}", fmt::join(context.files, ", "))};
  for (const std::string& note : context.notes)
    head.push_back("note: " + note);
  head.push_back(fmt::format("min. effect: {} ({}){}{}", effect_text(context.effect),
                             context.effect_source, remark.empty() ? "" : "; ", remark));
  const Page page = page_of(fleet, std::move(head), output.all);
  fmt::print("{}", page_text(page, "GPUs of a fleet", output.format));
}

ExitCode gate(const FleetComparison& fleet, const std::vector<std::string>& fail_on) {
  std::vector<std::string> failed;
  for (const std::string& outcome : fail_on) {
    const std::size_t count = count_of(fleet, outcome);
    if (count > 0) failed.push_back(fmt::format("{} {}", counted(count, "GPU"), outcome));
  }
  if (failed.empty()) return ExitCode::ok;
  Output(stdout, "standard output").flush();
  fmt::print(stderr, "gpuexp: the comparison failed its gate (--fail-on {}): {}\n",
             fmt::join(fail_on, ","), fmt::join(failed, ", "));
  return ExitCode::regressed;
}

// Returns ExitCode::regressed if an outcome that --fail-on names occurred. Throws ConfigError for
// simulated results, for a single GPU, if no cell was run on two GPUs, and for a gate that does not
// apply to GPUs.
ExitCode compare_across_gpus(const std::vector<std::string>& files,
                             const ComparisonOptions& options, const ComparisonOutput& output) {
  check_gates(options.fail_on);
  if (output.format == ComparisonFormat::junit)
    throw ConfigError("compare --across uuid --format junit: allowed: table, markdown, html");
  std::vector<Report> reports;
  for (const std::string& file : files) {
    reports.push_back(read_results(file));
    check_measured(file, reports.back());
  }
  std::vector<FleetResults> results;
  for (std::size_t i = 0; i < files.size(); ++i)
    results.push_back({files[i], reports[i]});
  const std::set<std::string> names = gpu_names(reports);
  const EffectInForce in_force =
      effect_in_force(options, names.size() == 1 ? std::optional(*names.begin()) : std::nullopt);
  FleetComparison fleet;
  try {
    fleet = compare_fleet(results, in_force.effect);
  } catch (const ReportError& e) {
    throw ConfigError(fmt::format("compare --across uuid: {}", e.what()));
  }
  const FleetContext context{files, in_force.effect, in_force.source,
                             notes_of(files, reports, names)};
  if (output.page && output.csv != "-" && output.json != "-")
    show(fleet, context, in_force.remark, output);
  write_text(output.csv, to_csv(fleet.table));
  write_text(output.json, to_json(fleet, context));
  return gate(fleet, options.fail_on);
}

struct CompareArguments {
  std::vector<std::string> files;
  ComparisonOptions comparison;
  ComparisonOutput output;
  std::string format = "table";
  std::vector<std::string> variants;
  std::string across;
  SourceComparisonOptions sources;
  bool calibrate = false;
  std::string out;
};

std::vector<Report> read_all(const std::vector<std::string>& files) {
  std::vector<Report> reports;
  for (const std::string& file : files)
    reports.push_back(read_results(file));
  return reports;
}

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
    throw ConfigError(
        "compare: --csv - and --json -: only one of them can be written to standard output");
  if (options.format == "markdown") options.output.format = ComparisonFormat::markdown;
  if (options.format == "html") options.output.format = ComparisonFormat::html;
  if (options.format == "junit") options.output.format = ComparisonFormat::junit;
  if (!options.across.empty())
    return compare_across_gpus(options.files, options.comparison, options.output);
  if (options.files.size() != 2) {
    throw ConfigError(fmt::format("compare: {} given; expected two results, A and B",
                                  counted(options.files.size(), "file")));
  }
  const std::vector<Report> runs = with_variants(read_all(options.files), options.variants);
  return compare_and_show({options.files.front(), runs.front()},
                          {options.files.back(), runs.back()}, options.comparison, options.output);
}

// Throws if the runs differ in their conditions or are copies, because such runs do not show the
// noise between runs.
void check_repeated(const std::vector<std::string>& files, const std::vector<Report>& runs) {
  for (std::size_t b = 1; b < runs.size(); ++b) {
    const auto notes = differences(runs.front().provenance, runs[b].provenance);
    if (!notes.empty()) {
      throw ConfigError(
          fmt::format("compare --calibrate: {} and {} were not run under the same conditions: {}",
                      files.front(), files[b], fmt::join(notes, "; ")));
    }
    for (std::size_t a = 0; a < b; ++a) {
      if (runs[a].samples_us != runs[b].samples_us) continue;
      throw ConfigError(
          fmt::format("compare --calibrate: {} and {} are the same run; expected separate runs",
                      files[a], files[b]));
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
    throw ConfigError(
        "compare --calibrate: expected two or more runs of one binary, and --out FILE");
  const std::vector<Report> runs = read_all(options.files);
  for (std::size_t i = 0; i < runs.size(); ++i)
    check_measured(options.files[i], runs[i]);
  check_repeated(options.files, runs);
  const NoiseFile noise = calibrated(runs);
  const Calibration& c = noise.calibration;
  write_file_atomically(options.out, to_json(noise));
  fmt::print(
      "{}: min. effect {}, from {} in {} runs\n"
      "of {}, {} would be false verdicts without this minimum effect, and {} with it; the rate is "
      "at most {:.2g} % with 95 % confidence{}\n",
      noise.device.value_or("unknown GPU"), effect_text(c.effect), counted(noise.cells, "cell"),
      noise.runs, counted(noise.comparisons, "comparison"), c.false_without, c.false_with,
      100 * c.rate_bound,
      c.margin > 1 ? fmt::format(" before the effect was multiplied by a margin of {:.2f}, since "
                                 "there were too few cells",
                                 c.margin)
                   : "");
  return ExitCode::ok;
}

// Also sets the files and flags of the comparison of sources.
bool compares_sources(CompareArguments& options) {
  const std::vector<std::string>& files = options.files;
  if (std::ranges::none_of(files, names_kernel_file)) {
    const SourceComparisonOptions& sources = options.sources;
    if (sources.sets.empty() && sources.gpu.empty() && sources.device == 0) return false;
    throw ConfigError("compare: --gpu, --device and --set need two kernel files");
  }
  if (files.size() != 2 || !std::ranges::all_of(files, names_kernel_file))
    throw ConfigError(fmt::format("compare: found {}; expected two results, or two kernel files",
                                  fmt::join(files, ", ")));
  const ComparisonOutput& output = options.output;
  if (!output.csv.empty() || !output.json.empty() || options.format != "table" ||
      !options.variants.empty() || !options.across.empty() || options.comparison.is_given())
    throw ConfigError("compare: with kernel files, only --gpu, --device, --set and --all apply");
  options.sources.before = files.front();
  options.sources.after = files.back();
  options.sources.all = options.output.all;
  return true;
}

void add_source_options(Command& command, CompareArguments& options) {
  command.add_option(
      "--gpu", options.sources.gpu,
      fmt::format("with kernel files: GPU to simulate (gpuexp list); nothing is then measured "
                  "(default: the GPU of this machine, or {})",
                  kDefaultGpu));
  command
      .add_option("--device", options.sources.device,
                  "with kernel files: ordinal of the GPU that measures both (gpuexp info; default: "
                  "0)")
      ->excludes("--gpu");
  command
      .add_option("--set", options.sources.sets,
                  "with kernel files: value of a parameter, instead of its default")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void add_compare(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "compare",
      "compare two runs row by row: rows that became slower, faster or broken from A to B");
  auto options = std::make_shared<CompareArguments>();
  command
      ->add_option(
          "results", options->files,
          "results.json of run A, then of run B; with --across, one or more, merged or not; or two "
          "kernel files, FILE.cu or FILE.cu:VARIANT")
      ->required();
  command->add_flag("--all", options->output.all, "also show rows that did not change");
  command
      ->add_option("--format", options->format,
                   "output format (default: table); html: one self-contained page; junit: XML for "
                   "CI systems, one test case per row")
      ->check(CLI::IsMember({"table", "markdown", "html", "junit"}));
  command
      ->add_option("--csv", options->output.csv,
                   "write every row as CSV to this file; - writes it to standard output instead of "
                   "the table")
      ->type_name("FILE");
  command
      ->add_option("--json", options->output.json,
                   "write the whole comparison as JSON to this file; - writes it to standard "
                   "output instead of the table")
      ->type_name("FILE");
  Option* variants =
      command
          ->add_option("--variants", options->variants,
                       "compare a variant of A with another variant of B, such as fused=triton")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("A=B[,...]");
  Option* across = command
                       ->add_option("--across", options->across,
                                    "uuid: compare the GPUs of these results by UUID, each with "
                                    "the fleet's median time of every cell, and report outliers; "
                                    "--fail-on slower, faster and broken then apply to GPUs")
                       ->check(CLI::IsMember({"uuid"}));
  across->excludes(variants);
  options->comparison.add_to(*command);
  auto* calibrate = command->add_flag(
      "--calibrate", options->calibrate,
      "determine the minimum effect from two or more runs of one binary, each in its own process");
  calibrate->excludes(variants);
  calibrate->excludes(across);
  command
      ->add_option("--out", options->out,
                   "with --calibrate: file to write, to be read with --noise")
      ->type_name("FILE")
      ->needs(calibrate);
  add_source_options(*command, *options);
  command->footer(
      "example: gpuexp compare before/results.json after/results.json --fail-on slower,broken\n"
      "         gpuexp compare fusion.json pytorch.json --variants fused=triton,ops=pytorch_eager\n"
      "         gpuexp compare --across uuid node*/results.json --fail-on slower,broken\n"
      "         gpuexp compare old.cu new.cu --gpu rtx_4090\n"
      "         gpuexp compare --calibrate 1.json 2.json 3.json --out configs/noise/h200.json");
  command->callback([&context, options] {
    context.action = [&context, options] {
      if (options->calibrate) return calibrate_runs(*options);
      if (!compares_sources(*options)) return compare(*options);
      if (const auto code = exit_code_of_copy()) return *code;
      return compare_sources(context, options->sources);
    };
  });
}

}  // namespace gpuexp::cli
