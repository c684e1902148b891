#include "cli/comparison.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/compared_row.hpp"
#include "analysis/run_comparison.hpp"
#include "base/csv.hpp"
#include "base/output.hpp"
#include "render/comparison_json.hpp"
#include "render/comparison_junit.hpp"
#include "render/comparison_page.hpp"
#include "render/markdown.hpp"
#include "render/page.hpp"
#include "render/terminal.hpp"
#include "render/viewer.hpp"
#include "stats/calibration.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array kGates{Outcome::slower, Outcome::faster, Outcome::inconclusive,
                            Outcome::missing, Outcome::broken};

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const Outcome gate : kGates)
    names.emplace_back(name_of(gate));
  return names;
}

// The GPU's noise file in configs/noise; empty if there is none.
std::optional<fs::path> noise_of_device(const std::string& name) {
  const auto spec = spec_of_name(name);
  if (!spec) return std::nullopt;
  fs::path path = config_dir() / "noise" / (spec->spec.id + ".json");
  return fs::exists(path) ? std::optional(std::move(path)) : std::nullopt;
}

EffectInForce recorded_effect(const fs::path& path, const std::optional<std::string>& device) {
  const RecordedEffect recorded = read_noise_file(path);
  return {recorded.effect, path.string(),
          recorded.device == device
              ? ""
              : fmt::format("calibrated on {}", recorded.device.value_or("an unknown GPU"))};
}

void add_notes(const Report& a, const Report& b, std::vector<std::string>& notes) {
  for (std::string& note : differences(a.provenance, b.provenance))
    notes.push_back(std::move(note));
  if (!a.complete) notes.emplace_back("A is incomplete: the run ended early");
  if (!b.complete) notes.emplace_back("B is incomplete: the run ended early");
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

std::string shown(const RunComparison& comparison, const ComparisonContext& context,
                  const std::string& remark, const ComparisonOutput& output) {
  if (output.format == ComparisonFormat::junit) return to_junit(comparison, context);
  const Page page =
      page_of(comparison, head_of(context, remark), ComparisonPageOptions{output.all});
  return page_text(page, fmt::format("{} and {}", context.a.file, context.b.file), output.format);
}

// The outcomes that --fail-on names and that occurred, with counts; "" if none occurred.
std::string failed_gates(const std::vector<std::string>& fail_on, const Tally& tally) {
  std::vector<std::string> failed;
  for (const Outcome gate : kGates) {
    const bool asked = std::find(fail_on.begin(), fail_on.end(), name_of(gate)) != fail_on.end();
    if (asked && tally.count(gate) > 0)
      failed.push_back(fmt::format("{} {}", tally.count(gate), name_of(gate)));
  }
  return fmt::format("{}", fmt::join(failed, ", "));
}

void check_common_rows(const RunComparison& comparison, const ComparedReport& a,
                       const ComparedReport& b) {
  if (std::ranges::any_of(comparison.rows, &ComparedRow::is_in_both)) return;
  const auto first_key = [](const Report& report) {
    return report.table.rows.empty() ? "no row" : report.table.rows.front().key;
  };
  throw ConfigError(
      fmt::format("compare: {} and {} have no row in common; rows are matched by the column key, "
                  "whose first value is {} in A and {} in B",
                  a.name, b.name, first_key(a.report), first_key(b.report)));
}

}  // namespace

EffectInForce effect_in_force(const ComparisonOptions& options,
                              const std::optional<std::string>& device) {
  constexpr double kDefault = 0.02;
  if (options.min_effect_pct) return {{*options.min_effect_pct / 100, 0}, "--min-effect", ""};
  if (!options.noise.empty()) return recorded_effect(options.noise, device);
  const auto path = device ? noise_of_device(*device) : std::nullopt;
  if (path) return recorded_effect(*path, device);
  return {{kDefault, 0},
          "the default",
          device ? "no noise is recorded for this GPU: see --calibrate"
                 : "noise is recorded for one GPU at a time"};
}

void write_text(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
  } else if (!file.empty()) {
    write_file_atomically(file, text);
  }
}

std::string page_text(const Page& page, const std::string& title, ComparisonFormat format) {
  if (format == ComparisonFormat::markdown) return render_markdown(page);
  if (format == ComparisonFormat::html) return render_html(page, title);
  return render_terminal(page, terminal_options(stdout));
}

std::string effect_text(const MinimumEffect& effect) {
  std::string text = fmt::format("{:.3g} %", 100 * effect.relative);
  if (effect.absolute_us > 0)
    text += fmt::format(" or {:.3g} µs, whichever is larger", effect.absolute_us);
  return text;
}

void ComparisonOptions::add_to(Command& command, Option* only_with) {
  Option* gates = command
                      .add_option("--fail-on", fail_on,
                                  "exit with code 6 if any row has one of these outcomes: slower, "
                                  "faster, inconclusive, missing, broken")
                      ->delimiter(',')
                      ->allow_extra_args(false)
                      ->type_name("OUTCOME[,...]")
                      ->check(CLI::IsMember(gate_names()));
  Option* file = command.add_option(
      "--noise", noise,
      "file with the minimum effect (default: the GPU's file in configs/noise, else 2 %)");
  file->type_name("FILE");
  Option* effect = command.add_option("--min-effect", min_effect_pct, "minimum effect in percent");
  effect->type_name("PCT")->check(CLI::Range(0.0, 1000.0))->excludes(file);
  if (!only_with) return;
  for (Option* option : {gates, file, effect})
    option->needs(only_with);
}

void check_measured(const std::string& name, const Report& report) {
  if (report.provenance.device.is_simulated())
    throw ConfigError(fmt::format(
        "{}: simulated results have no times; expected the results of a run on a GPU", name));
}

ExitCode compare_and_show(const ComparedReport& a, const ComparedReport& b,
                          const ComparisonOptions& options, const ComparisonOutput& output,
                          std::vector<std::string> notes) {
  for (const ComparedReport* run : {&a, &b})
    check_measured(run->name, run->report);
  add_notes(a.report, b.report, notes);
  const Provenance& of_a = a.report.provenance;
  const Provenance& of_b = b.report.provenance;
  const auto& device = of_a.device.name;
  const EffectInForce in_force =
      effect_in_force(options, device == of_b.device.name ? device : std::nullopt);
  const RunComparison comparison = compare_runs(a.report, b.report, in_force.effect);
  check_common_rows(comparison, a, b);
  const ComparisonContext context{{a.name, of_a},  {b.name, of_b},   in_force.effect,
                                  in_force.source, std::move(notes), options.fail_on};
  if (output.page && output.csv != "-" && output.json != "-") {
    fmt::print("{}", shown(comparison, context, in_force.remark, output));
  }
  write_text(output.csv, to_csv(comparison.table));
  write_text(output.json, to_json(comparison, context));
  const std::string failed = failed_gates(options.fail_on, comparison.all);
  if (failed.empty()) return ExitCode::ok;
  Output(stdout, "standard output").flush();  // so that the message follows the page
  fmt::print(stderr, "gpuexp: the comparison failed its gate (--fail-on {}): {}\n",
             fmt::join(options.fail_on, ","), failed);
  return ExitCode::regressed;
}

}  // namespace gpuexp::cli
