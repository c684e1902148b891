#include "lesson/lesson.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/explanation.hpp"
#include "analysis/headline.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/config_error.hpp"
#include "base/text.hpp"
#include "family/function_text.hpp"
#include "lesson/lesson_rows.hpp"
#include "lesson/lesson_tables.hpp"
#include "render/explanation_text.hpp"
#include "render/figure_views.hpp"
#include "render/markdown.hpp"
#include "render/page.hpp"

namespace gpuexp {

namespace {

// ---- question, variants: text from the registry

// "1, 2, 4, 8", "57 values from 1024 to 4096"; "" if nothing was recorded.
std::string recorded_values(const Parameter& parameter, const std::vector<RecordRef>& rows) {
  constexpr std::size_t kMaxValues = 12;
  std::vector<std::string> values;
  std::vector<double> numbers;
  for (const ResultRecord& row : rows) {
    const std::string value = row.parameters.text(parameter.name);
    if (value.empty() || std::find(values.begin(), values.end(), value) != values.end()) continue;
    values.push_back(value);
    if (const auto number = row.parameters.number(parameter.name)) numbers.push_back(*number);
  }
  if (numbers.size() != values.size())
    return escape_markdown(fmt::format("{}", fmt::join(values, ", ")));
  std::ranges::sort(numbers);
  if (numbers.size() <= kMaxValues) return fmt::format("{}", fmt::join(numbers, ", "));
  return fmt::format("{} values from {} to {}", numbers.size(), numbers.front(), numbers.back());
}

std::string parameter_text(const Parameter& parameter, const std::vector<RecordRef>& rows) {
  const std::string recorded = recorded_values(parameter, rows);
  const std::string unit = parameter.unit.empty() ? "" : " " + parameter.unit;
  const std::string values =
      recorded.empty() ? fmt::format("Default: {}{} ({})", to_string(parameter.default_value), unit,
                                     kNotRecorded)
                       : fmt::format("Recorded: {}{}", recorded, unit);
  return fmt::format("- `{}`: {}. {}\n", parameter.name, escape_but_code(parameter.doc), values);
}

std::string question_text(const FamilyRows& rows) {
  const Family& family = rows.family();
  std::string text = fmt::format("> **{}**\n\n", escape_but_code(family.question));
  if (!family.physics.empty()) text += escape_but_code(family.physics) + "\n\n";
  for (const Parameter& parameter : family.parameters)
    text += parameter_text(parameter, rows.all());
  return text;
}

std::string variant_text(const Variant& variant, const std::vector<RecordRef>& recorded) {
  std::string text = fmt::format("- **`{}`**", variant.id);
  if (!variant.compare_to.empty()) text += fmt::format(", compared to `{}`", variant.compare_to);
  text += ": " + escape_but_code(variant.why);
  if (variant.deterministic) text += " *Deterministic:* bitwise-identical results in every launch.";
  if (!variant.expected_changes.empty())
    text += fmt::format(" *Counters:* {}.",
                        escape_markdown(expected_changes_fragment(variant.expected_changes)));
  if (std::ranges::none_of(recorded,
                           [&](const ResultRecord& row) { return row.variant == variant.id; }))
    text += fmt::format(" *{}*", kNotRecorded);
  return text + "\n";
}

std::string variants_text(const FamilyRows& rows) {
  std::string text;
  for (const Variant* variant : rows.variants())
    text += variant_text(*variant, rows.all());
  return text;
}

// ---- code

std::string code_text(const LessonPart& part, const Registry& registry) {
  const std::vector<std::string> functions = part.option_list("function", ',');
  if (functions.empty()) throw ConfigError(fmt::format("{}: expected function=NAME", part.place));
  std::string text;
  for (const std::string& name : functions) {
    const std::string code = function_text(registry.source_of(part.subject), name);
    if (code.empty()) {
      throw ConfigError(fmt::format("{}: kernels/{}.cu defines no function '{}'", part.place,
                                    in_message(part.subject), in_message(name)));
    }
    text += (text.empty() ? "" : "\n") + code;
  }
  return "```cpp\n" + text + "```\n";
}

// ---- provenance

std::string provenance_text(const LessonSource& source) {
  const Provenance& provenance = source.report.provenance;
  std::vector<std::string> facts = provenance_facts(provenance);
  if (const auto sms = provenance.device.sm_count) facts.push_back(fmt::format("{} SMs", *sms));
  std::string text = escape_markdown(fmt::format("{}", fmt::join(facts, " · "))) + "\n\n";
  const std::string name = source.results_path.substr(source.results_path.rfind('/') + 1);
  text += fmt::format("Recorded in [{}](<{}>)", escape_markdown(name), source.results_path);
  if (provenance.ceilings)
    text += escape_markdown(fmt::format("; predictions from {}", provenance.ceilings->source));
  text += source.report.complete ? ".\n" : "; the run did not finish.\n";
  return text;
}

// ---- explanation: explanations of variants with compare_to, else headlines of experiments

std::string explanation_of(const ShownVariant& v, const DeviceRates& rates) {
  if (!v.row) return fmt::format("{}: {}.", v.variant->id, kNotRecorded);
  if (!v.row->passed())
    return printable(fmt::format("{}: {}.", v.variant->id, status_text(*v.row)));
  if (v.row->is_above_limit())
    return fmt::format("{}: excluded, because it is faster than its limit.", v.variant->id);
  if (!v.reference || v.reference->is_above_limit()) {
    return fmt::format("{}: {} was {} at this problem.", v.variant->id, v.variant->compare_to,
                       v.reference ? "faster than its limit and is excluded" : "not timed");
  }
  // With empty results, the text does not name the problem, which the line above the list names.
  return printable(text_of(ExperimentResults{}, explain(*v.reference, *v.row, rates)));
}

std::string explanations_text(const FamilyRows& rows, const DeviceRates& rates) {
  const ShownRows shown = rows.at_one_problem();
  std::vector<std::string> items;
  for (const ShownVariant& v : rows.variants_in(shown)) {
    if (!v.variant->compare_to.empty()) items.push_back(explanation_of(v, rates));
  }
  if (items.empty()) items.emplace_back("none of these variants has a variant to compare to.");
  return facts_line(rows, shown) + "\n" + markdown_list(items);
}

std::string experiments_text(const FamilyRows& rows,
                             const std::vector<ExperimentResults>& experiments) {
  std::vector<std::string> items;
  for (const ExperimentResults& experiment : experiments) {
    const std::string headline = experiment.constant(&ResultRecord::family) == rows.family().id
                                     ? printable(headline_of(experiment))
                                     : "";
    if (!headline.empty()) items.push_back(fmt::format("{}: {}", experiment.name, headline));
  }
  if (items.empty()) items.push_back(fmt::format("{}: {}.", rows.family().id, kNotRecorded));
  return markdown_list(items);
}

std::string explanation_text(const LessonPart& part, const FamilyRows& rows,
                             const std::vector<ExperimentResults>& experiments,
                             const DeviceRates& rates) {
  const auto& variants = rows.family().variants;
  const bool compares =
      std::ranges::any_of(variants, [](const Variant& v) { return !v.compare_to.empty(); });
  if (compares) return explanations_text(rows, rates);
  if (!part.options.empty()) {
    throw ConfigError(fmt::format(
        "{}: option '{}' is not allowed: no variant of family '{}' has a compare_to, so "
        "the part describes whole experiments",
        part.place, part.options.front().first, rows.family().id));
  }
  return experiments_text(rows, experiments);
}

std::string results_marker(const std::string& path) {
  if (path.find_first_of("\"\r\n") != std::string::npos) {
    throw ConfigError(
        fmt::format("'{}' cannot be named on a page: it has quotes or line ends", printable(path)));
  }
  const bool has_space = path.find(' ') != std::string::npos;
  return fmt::format("<!-- gpuexp: {} {}{}{} -->\n", name_of(LessonPartKind::results),
                     has_space ? "\"" : "", path, has_space ? "\"" : "");
}

// ---- other files

// The page's results as fields, converted when the first part needs them.
class OwnFields {
 public:
  explicit OwnFields(const LessonSource& source) : source_(source) {}

  RecordedTable table() {
    if (!fields_) fields_ = table_of(source_.report.table);
    return {source_.results_path, &*fields_};
  }

 private:
  const LessonSource& source_;
  std::optional<Table> fields_;
};

RecordedTable recorded_for(const LessonPart& part, const LessonSource& source, OwnFields& own) {
  if (part.file().empty()) return own.table();
  try {
    return source.recorded(part.file());
  } catch (const ConfigError& e) {
    throw ConfigError(fmt::format("{}: {}", part.place, e.what()));
  }
}

// ---- published figures

std::string figures_text(const LessonPart& part, const LessonSource& source) {
  const Report* report = nullptr;
  try {
    report = &source.recorded_report(part.subject);
  } catch (const ConfigError& e) {
    throw ConfigError(fmt::format("{}: {}", part.place, e.what()));
  }
  const std::vector<ResultRecord>& rows = report->table.rows;
  if (report->figures.empty()) {
    throw ConfigError(
        fmt::format("{}: {} has no published figures", part.place, in_message(part.subject)));
  }
  std::vector<std::string> facts = provenance_facts(report->provenance);
  facts.push_back(figures_summary(report->figures, rows));
  std::string text = escape_markdown(fmt::format("{}", fmt::join(facts, " · "))) + "\n";
  for (const ExperimentView& view : figure_views(report->figures, rows)) {
    text += fmt::format("\n### {}\n\n{}\n\n{}\n{}", escape_markdown(view.title),
                        escape_markdown(fmt::format("{}", fmt::join(view.facts, " · "))),
                        markdown_table(view), markdown_list(view.explanations));
  }
  return text;
}

// Folds long tables with HTML, because Markdown has no folding.
std::string with_long_tables_folded(const std::string& text) {
  constexpr std::ptrdiff_t kMaxRows = 10;
  constexpr std::ptrdiff_t kHeadLines = 2;
  std::string folded;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_table = text[at] == '|';
    std::size_t end = at;
    while (end < text.size() && (text[end] == '|') == is_table)
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    const std::string part = text.substr(at, end - at);
    const auto rows = std::count(part.begin(), part.end(), '\n') - kHeadLines;
    folded +=
        is_table && rows > kMaxRows
            ? fmt::format("<details><summary>{} rows</summary>\n\n{}\n</details>\n", rows, part)
            : part;
    at = end;
  }
  return folded;
}

std::string part_text(const LessonPart& part, const LessonSource& source,
                      const std::vector<ExperimentResults>& experiments, OwnFields& own) {
  if (part.kind == LessonPartKind::provenance) return provenance_text(source);
  if (part.kind == LessonPartKind::declared) return declared_table(part);
  if (part.kind == LessonPartKind::code) return code_text(part, source.registry);
  if (part.kind == LessonPartKind::figures) return figures_text(part, source);
  if (part.kind == LessonPartKind::table)
    return recorded_table_text(*recorded_for(part, source, own).table);
  if (part.kind == LessonPartKind::value) {
    const bool may_lack = part.file().empty() && source.replaces_results;
    return value_text(part, recorded_for(part, source, own), may_lack);
  }
  const FamilyRows rows(part, source.registry, experiments);
  switch (part.kind) {
    case LessonPartKind::question: return question_text(rows);
    case LessonPartKind::variants: return variants_text(rows);
    case LessonPartKind::prediction: return prediction_table(rows);
    case LessonPartKind::measurement: return measurement_table(rows);
    case LessonPartKind::sweep: return sweep_table(part, rows);
    case LessonPartKind::counters: return counters_table(rows);
    case LessonPartKind::explanation:
      return explanation_text(part, rows, experiments, source.rates);
    default: break;
  }
  return "";
}

}  // namespace

std::string render_lesson(const LessonPage& page, const LessonSource& source) {
  const std::vector<ExperimentResults> experiments = experiments_of(source.report.table);
  OwnFields own(source);
  std::string text;
  for (const LessonPiece& piece : page.pieces) {
    text += piece.text;
    if (!piece.part) continue;
    if (piece.part->kind == LessonPartKind::results) {
      text += results_marker(source.results_path);
    } else {
      const bool is_inline = piece.part->kind == LessonPartKind::value;
      const std::string part = part_text(*piece.part, source, experiments, own);
      const bool is_long = piece.part->kind == LessonPartKind::sweep ||
                           piece.part->kind == LessonPartKind::measurement ||
                           piece.part->kind == LessonPartKind::counters;
      text +=
          is_inline ? part : fmt::format("\n{}\n", is_long ? with_long_tables_folded(part) : part);
    }
  }
  return text;
}

}  // namespace gpuexp
