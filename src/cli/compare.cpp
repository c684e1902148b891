#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app.hpp"
#include "cli/results_file.hpp"
#include "core/noise_file.hpp"
#include "report/comparison_json.hpp"
#include "report/comparison_page.hpp"
#include "report/csv.hpp"
#include "report/markdown.hpp"
#include "report/output.hpp"
#include "report/terminal.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> files;
  std::string format = "table";
  bool all = false;
  std::string csv;
  std::string json;
  std::vector<std::string> fail_on;
  std::string noise;
  std::optional<double> min_effect_pct;
  bool calibrate = false;
  std::string out;
};

constexpr std::array kGates{Outcome::slower, Outcome::faster, Outcome::inconclusive,
                            Outcome::missing, Outcome::broken};

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const Outcome gate : kGates)
    names.emplace_back(name_of(gate));
  return names;
}

std::vector<Report> read_all(const std::vector<std::string>& files) {
  std::vector<Report> reports;
  for (const std::string& file : files)
    reports.push_back(read_results(file));
  return reports;
}

// The minimum effect in force, and where it is from.
struct EffectInForce {
  MinimumEffect effect;
  std::string source;
  std::string remark;  ///< why it may not fit, and what would; "" where it does
};

// The calibration that is kept for a GPU; empty where there is none.
std::optional<fs::path> noise_of_device(const std::string& name) {
  const auto directory = find_config_dir();
  if (!directory) return std::nullopt;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* spec = match_device_name(specs, name);
  if (!spec) return std::nullopt;
  fs::path path = *directory / "noise" / (spec->spec.id + ".json");
  return fs::exists(path) ? std::optional(std::move(path)) : std::nullopt;
}

EffectInForce recorded_effect(const fs::path& path, const std::optional<std::string>& device) {
  const RecordedEffect recorded = read_noise_file(path);
  return {recorded.effect, path.string(),
          recorded.device == device
              ? ""
              : fmt::format("calibrated on {}", recorded.device.value_or("an unknown GPU"))};
}

EffectInForce effect_in_force(const Options& options, const Provenance& a, const Provenance& b) {
  constexpr double kDefault = 0.02;
  const auto& device = a.device.name;
  const bool one_device = device && device == b.device.name;
  if (options.min_effect_pct) return {{*options.min_effect_pct / 100, 0}, "--min-effect", ""};
  if (!options.noise.empty())
    return recorded_effect(options.noise, one_device ? device : std::nullopt);
  const auto path = one_device ? noise_of_device(*device) : std::nullopt;
  if (path) return recorded_effect(*path, device);
  return {{kDefault, 0},
          "the default",
          one_device ? "no noise is recorded for this GPU: see --calibrate"
                     : "noise is recorded for one GPU at a time"};
}

std::string effect_text(const MinimumEffect& effect) {
  std::string text = fmt::format("{:.3g} %", 100 * effect.relative);
  if (effect.absolute_us > 0)
    text += fmt::format(" or {:.3g} µs, whichever is more", effect.absolute_us);
  return text;
}

std::vector<std::string> notes_on(const Report& a, const Report& b) {
  std::vector<std::string> notes = differences(a.provenance, b.provenance);
  if (!a.complete) notes.emplace_back("A ended before its end");
  if (!b.complete) notes.emplace_back("B ended before its end");
  return notes;
}

std::vector<std::string> head_of(const ComparisonContext& context, const std::string& remark) {
  std::vector<std::string> head;
  const auto add_run = [&](const char* name, const ComparedRun& run) {
    std::vector<std::string> facts{run.file};
    for (std::string& fact : provenance_facts(run.provenance))
      facts.push_back(std::move(fact));
    head.push_back(fmt::format("{}: {}", name, fmt::join(facts, " · ")));
  };
  add_run("A", context.a);
  add_run("B", context.b);
  for (const std::string& note : context.notes)
    head.push_back("note: " + note);
  head.push_back(fmt::format("min. effect: {} ({}){}{}", effect_text(context.effect),
                             context.effect_source, remark.empty() ? "" : "; ", remark));
  return head;
}

void write(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
  } else if (!file.empty()) {
    write_file_atomically(file, text);
  }
}

// What --fail-on asks for and the comparison has; "" when it passes.
std::string failed_gates(const std::vector<std::string>& fail_on, const Tally& tally) {
  std::vector<std::string> failed;
  for (const Outcome gate : kGates) {
    const bool asked = std::find(fail_on.begin(), fail_on.end(), name_of(gate)) != fail_on.end();
    if (asked && tally.count(gate) > 0)
      failed.push_back(fmt::format("{} {}", tally.count(gate), name_of(gate)));
  }
  return fmt::format("{}", fmt::join(failed, ", "));
}

ExitCode compare(const Options& options) {
  if (options.files.size() != 2) {
    throw ConfigError(fmt::format("compare: {} {} given; two are compared, A and B",
                                  options.files.size(),
                                  options.files.size() == 1 ? "file" : "files"));
  }
  if (options.csv == "-" && options.json == "-")
    throw ConfigError("compare: --csv - and --json -: standard output takes one of them");
  const std::vector<Report> runs = read_all(options.files);
  const Report& a = runs.front();
  const Report& b = runs.back();
  const EffectInForce in_force = effect_in_force(options, a.provenance, b.provenance);
  const RunComparison comparison = compare_runs(a, b, in_force.effect);
  const ComparisonContext context{{options.files.front(), a.provenance},
                                  {options.files.back(), b.provenance},
                                  in_force.effect,
                                  in_force.source,
                                  notes_on(a, b),
                                  options.fail_on};
  if (options.csv != "-" && options.json != "-") {
    const Page page =
        page_of(comparison, head_of(context, in_force.remark), ComparisonPageOptions{options.all});
    fmt::print("{}", options.format == "markdown"
                         ? render_markdown(page)
                         : render_terminal(page, terminal_options(stdout)));
  }
  write(options.csv, to_csv(comparison.table));
  write(options.json, to_json(comparison, context));
  const std::string failed = failed_gates(options.fail_on, comparison.all);
  if (failed.empty()) return ExitCode::ok;
  Output(stdout, "standard output").flush();  // what failed is said last, wherever both go
  fmt::print(stderr, "gpuexp: the comparison failed its gate (--fail-on {}): {}\n",
             fmt::join(options.fail_on, ","), failed);
  return ExitCode::regressed;
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

ExitCode calibrate_runs(const Options& options) {
  if (options.files.size() < 2 || options.out.empty())
    throw ConfigError("compare --calibrate: needs two runs of one binary or more, and --out FILE");
  const std::vector<Report> runs = read_all(options.files);
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

void add_compare(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "compare", "two runs row by row: what became slower, faster or broken from A to B");
  auto options = std::make_shared<Options>();
  command->add_option("results", options->files, "a results.json of A, one of B")->required();
  command->add_flag("--all", options->all, "show rows that are the same, too");
  command->add_option("--format", options->format, "default table")
      ->check(CLI::IsMember({"table", "markdown"}));
  command->add_option("--csv", options->csv, "write every row as CSV; - for standard output alone")
      ->type_name("FILE");
  command->add_option("--json", options->json, "write everything as JSON; - likewise")
      ->type_name("FILE");
  command
      ->add_option("--fail-on", options->fail_on,
                   "exit with 6 when there are such rows: slower, faster, inconclusive, missing, "
                   "broken")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("OUTCOME[,...]")
      ->check(CLI::IsMember(gate_names()));
  auto* noise = command->add_option("--noise", options->noise,
                                    "minimum effect from this file; default: the one of the GPU in "
                                    "configs/noise, else 2 %");
  noise->type_name("FILE");
  command->add_option("--min-effect", options->min_effect_pct, "minimum effect in percent")
      ->type_name("PCT")
      ->check(CLI::Range(0.0, 1000.0))
      ->excludes(noise);
  auto* calibrate =
      command->add_flag("--calibrate", options->calibrate,
                        "find the minimum effect from runs of one binary, each its own process");
  command->add_option("--out", options->out, "with --calibrate: the file for --noise")
      ->type_name("FILE")
      ->needs(calibrate);
  command->footer(
      "example: gpuexp compare before/results.json after/results.json --fail-on slower,broken\n"
      "         gpuexp compare --calibrate 1.json 2.json 3.json --out configs/noise/h200.json");
  command->callback([&context, options] {
    context.action = [options] {
      return options->calibrate ? calibrate_runs(*options) : compare(*options);
    };
  });
}

}  // namespace gpuexp::cli
