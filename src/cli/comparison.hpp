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
  std::string noise;                 ///< file with the minimum effect; "" if not given
  std::optional<double> min_effect_pct;

  bool is_given() const { return !fail_on.empty() || !noise.empty() || min_effect_pct.has_value(); }

  /// Adds --fail-on, --noise and --min-effect. If `only_with` is given, these options require it.
  void add_to(Command& command, Option* only_with = nullptr);
};

/// The effect as text: "0.98 % or 0.08 µs, whichever is larger".
std::string effect_text(const MinimumEffect& effect);

struct EffectInForce {
  MinimumEffect effect;
  std::string source;
  std::string remark;  ///< why the effect may not apply to these runs; "" if it does
};

/// The minimum effect of the options, else the recorded one for `device`, else 2 %. `device` is the
/// name of the compared GPU, empty for several GPUs. Throws ConfigError if a noise file cannot be
/// read.
EffectInForce effect_in_force(const ComparisonOptions& options,
                              const std::optional<std::string>& device);

/// Writes to the file; "-" is standard output, and "" writes nothing.
void write_text(const std::string& file, const std::string& text);

struct ComparedReport {
  std::string name;  ///< file or folder, as given on the command line
  const Report& report;
};

enum class ComparisonFormat { table, markdown, html, junit };

/// The page in any format except junit.
std::string page_text(const Page& page, const std::string& title, ComparisonFormat format);

/// Outputs of a comparison. The file "" means no output; "-" means standard output, without the
/// page.
struct ComparisonOutput {
  bool page = true;
  ComparisonFormat format = ComparisonFormat::table;
  bool all = false;  ///< show unchanged rows on the page
  std::string csv;
  std::string json;
};

/// Throws ConfigError if the report, read from file `name`, is simulated, because simulated reports
/// have no measured times.
void check_measured(const std::string& name, const Report& report);

/// Compares the runs and writes the outputs. Returns ExitCode::regressed if an outcome that
/// --fail-on names occurred. `notes` precede the comparison's notes. Throws ConfigError if the runs
/// have no common row, a noise file cannot be read, or a report is simulated.
ExitCode compare_and_show(const ComparedReport& a, const ComparedReport& b,
                          const ComparisonOptions& options, const ComparisonOutput& output,
                          std::vector<std::string> notes = {});

}  // namespace gpuexp::cli
