// What `compare` and `run --against` share: two runs held against each other, shown, written,
// judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "render/view.hpp"
#include "results/report.hpp"
#include "stats/ratio.hpp"

namespace gpuexp::cli {

struct ComparisonOptions {
  std::vector<std::string> fail_on;  ///< outcomes that fail the comparison
  std::string noise;                 ///< file with the minimum effect; "" where none was given
  std::optional<double> min_effect_pct;

  /// --fail-on, --noise and --min-effect; each needs `only_with` where it is given.
  void add_to(Command& command, Option* only_with = nullptr);
};

/// "0.98 % or 0.08 µs, whichever is more".
std::string effect_text(const MinimumEffect& effect);

/// The minimum effect in force, and where it is from.
struct EffectInForce {
  MinimumEffect effect;
  std::string source;
  std::string remark;  ///< why it may not fit, and what would; "" where it does
};

/// What the options ask for, else what is recorded for the GPU of all that is compared, else 2 %.
/// `device` is its name; empty where there are several. Throws ConfigError for a noise file that
/// cannot be read.
EffectInForce effect_in_force(const ComparisonOptions& options,
                              const std::optional<std::string>& device);

/// To the file; - is standard output, and nothing is written where it is "".
void write_text(const std::string& file, const std::string& text);

struct ComparedReport {
  std::string name;  ///< how it was given: a file or a folder
  const Report& report;
};

enum class ComparisonFormat { table, markdown, html, junit };

/// The page in the output's format, which is not junit.
std::string page_text(const Page& page, const std::string& title, ComparisonFormat format);

/// Where a comparison goes; what is empty is not written, and - is standard output, which takes no
/// page then.
struct ComparisonOutput {
  bool page = true;
  ComparisonFormat format = ComparisonFormat::table;
  bool all = false;  ///< on the page, rows that are the same, too
  std::string csv;
  std::string json;
};

/// Throws ConfigError for the report of a simulated run, which has no times. `name` is its file.
void check_measured(const std::string& name, const Report& report);

/// Compares, writes, and returns ExitCode::regressed where --fail-on's outcomes are there, which is
/// said on standard error. `notes` stand beside what the comparison itself has to note. Throws
/// ConfigError for reports without a common row, for a noise file that cannot be read, and as
/// check_measured().
ExitCode compare_and_show(const ComparedReport& a, const ComparedReport& b,
                          const ComparisonOptions& options, const ComparisonOutput& output,
                          std::vector<std::string> notes = {});

}  // namespace gpuexp::cli
