#include "lesson/lesson_rows.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "config/config_keys.hpp"
#include "config/config_overrides.hpp"
#include "family/registry.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kDefaultMode = "cold";

const Family& find_family(const LessonPart& part, const Registry& registry) {
  if (const Family* family = registry.find(part.subject)) return *family;
  if (const auto why = registry.omitted_message(part.subject))
    throw ConfigError(fmt::format("{}: {}", part.place, *why));
  throw ConfigError(fmt::format("{}: unknown family '{}'{}", part.place, in_message(part.subject),
                                allowed_names(part.subject, names_of(registry.families()))));
}

std::map<std::string, std::size_t> variants_by_experiment(const std::vector<RecordRef>& rows) {
  std::map<std::string, std::set<std::string>> variants;
  for (const ResultRecord& row : rows)
    variants[row.experiment].insert(row.variant);
  std::map<std::string, std::size_t> counts;
  for (const auto& [experiment, its_variants] : variants)
    counts[experiment] = its_variants.size();
  return counts;
}

// Keeps one row per variant and problem: from the experiment with the most variants, at the
// position of the first such row.
std::vector<RecordRef> without_repetitions(const ExperimentResults& results) {
  const auto counts = variants_by_experiment(results.rows);
  const auto rank = [&](const ResultRecord& row) { return counts.at(row.experiment); };
  std::vector<RecordRef> kept;
  std::map<std::string, std::size_t> positions;
  for (const ResultRecord& row : results.rows) {
    const std::string key = row.variant + '\0' + group_of(results, row);
    const auto [position, is_new] = positions.try_emplace(key, kept.size());
    if (is_new) {
      kept.emplace_back(row);
    } else if (rank(row) > rank(kept[position->second])) {
      kept[position->second] = row;
    }
  }
  return kept;
}

struct Problem {
  std::vector<RecordRef> rows;
  std::set<std::string> timed;  // ids of timed variants
  double longest_us = 0;
};

// True if problem `a` has more timed variants than `b`, or the same number and a time that is more
// than half a percent longer.
bool is_better(const Problem& a, const Problem& b) {
  constexpr double kClearlyLonger = 1.005;
  if (a.timed.size() != b.timed.size()) return a.timed.size() > b.timed.size();
  return a.longest_us > kClearlyLonger * b.longest_us;
}

std::vector<RecordRef> preferred_problem(const ExperimentResults& results) {
  std::vector<Problem> problems;
  std::map<std::string, std::size_t> positions;
  for (const ResultRecord& row : results.rows) {
    const auto [position, is_new] = positions.try_emplace(group_of(results, row), problems.size());
    if (is_new) problems.emplace_back();
    Problem& problem = problems[position->second];
    problem.rows.emplace_back(row);
    if (!row.time_us()) continue;
    problem.timed.insert(row.variant);
    problem.longest_us = std::max(problem.longest_us, *row.time_us());
  }
  const Problem* best = nullptr;
  for (const Problem& problem : problems) {
    if (!best || is_better(problem, *best)) best = &problem;
  }
  return best ? best->rows : std::vector<RecordRef>{};
}

}  // namespace

FamilyRows::FamilyRows(const LessonPart& part, const Registry& registry,
                       const std::vector<ExperimentResults>& experiments)
    : family_(&find_family(part, registry)), mode_(part.option("mode")) {
  read_problem(part);
  read_variants(part);
  read_rows(part, experiments);
}

void FamilyRows::read_problem(const LessonPart& part) {
  for (const std::string& word : part.option_list("problem", ' ')) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Parameter* parameter = family_->find_parameter(name);
    if (!parameter) {
      throw ConfigError(fmt::format("{}: problem: unknown parameter '{}' of family '{}'{}",
                                    part.place, in_message(name), family_->id,
                                    allowed_names(name, names_of(family_->parameters))));
    }
    if (equals == std::string::npos || equals + 1 == word.size())
      throw ConfigError(fmt::format("{}: problem: expected {}=VALUE", part.place, name));
    fixed_.emplace_back(parameter,
                        value_of(word.substr(equals + 1), *parameter, part.place + ": problem"));
  }
}

void FamilyRows::read_variants(const LessonPart& part) {
  std::vector<std::string> globs = part.option_list("variants", ',');
  if (globs.empty()) globs.emplace_back("*");
  const auto matches = [](const std::string& glob) {
    return [&glob](const Variant& v) { return glob_match(glob, v.id); };
  };
  for (const std::string& glob : globs) {
    if (std::ranges::any_of(family_->variants, matches(glob))) continue;
    throw ConfigError(fmt::format("{}: unknown variant '{}' of family '{}'{}", part.place,
                                  in_message(glob), family_->id,
                                  allowed_names(glob, names_of(family_->variants))));
  }
  for (const Variant& variant : family_->variants) {
    if (std::ranges::any_of(globs, [&](const std::string& glob) { return matches(glob)(variant); }))
      variants_.push_back(&variant);
  }
}

void FamilyRows::read_rows(const LessonPart& part,
                           const std::vector<ExperimentResults>& experiments) {
  const std::vector<std::string> modes = names_of(kModes);
  if (!mode_.empty() && std::find(modes.begin(), modes.end(), mode_) == modes.end()) {
    throw ConfigError(fmt::format("{}: unknown mode '{}'{}", part.place, in_message(mode_),
                                  allowed_names(mode_, modes)));
  }
  std::vector<RecordRef> rows;
  for (const ExperimentResults& experiment : experiments) {
    columns_ = experiment.columns;
    for (const ResultRecord& row : experiment.rows) {
      if (row.family != family_->id) continue;
      all_.emplace_back(row);
      const bool is_fixed = std::ranges::all_of(
          fixed_, [&](const auto& f) { return has_value(row, *f.first, f.second); });
      if (is_fixed) rows.emplace_back(row);
    }
  }
  const auto is_in = [&](std::string_view mode) {
    return [mode](const ResultRecord& row) { return mode_text(row) == mode; };
  };
  if (mode_.empty()) {
    const bool is_default = rows.empty() || std::ranges::any_of(rows, is_in(kDefaultMode));
    mode_ = is_default ? std::string(kDefaultMode) : mode_text(rows.front());
  }
  std::erase_if(rows, [&](const ResultRecord& row) { return !is_in(mode_)(row); });
  if (!columns_) return;
  at_mode_ = experiment_of(family_->id, *columns_, rows);
  std::erase_if(rows, [&](const ResultRecord& row) {
    return std::ranges::none_of(variants_, [&](const Variant* v) { return v->id == row.variant; });
  });
  asked_for_ = experiment_of(family_->id, *columns_, std::move(rows));
}

ShownRows FamilyRows::shown(std::vector<RecordRef> rows) const {
  ShownRows shown;
  if (columns_) shown.results = experiment_of(family_->id, *columns_, std::move(rows));
  std::vector<std::string> asked;
  for (const auto& [parameter, value] : fixed_)
    asked.push_back(fmt::format("{} = {}", parameter->name, to_string(value)));
  asked.push_back(mode_);
  shown.asked = fmt::format("{}", fmt::join(asked, ", "));
  return shown;
}

ShownRows FamilyRows::at_one_problem() const {
  ExperimentResults problem = asked_for_;
  problem.rows = preferred_problem(asked_for_);
  return shown(without_repetitions(problem));
}

std::vector<ShownVariant> FamilyRows::variants_in(const ShownRows& shown) const {
  std::vector<ShownVariant> all;
  for (const Variant* variant : variants_) {
    ShownVariant& one = all.emplace_back(ShownVariant{variant});
    for (const ResultRecord& row : shown.results.rows) {
      if (row.variant == variant->id) one.row = &row;
    }
    if (one.row) one.reference = reference_of(*one.row);
  }
  return all;
}

ShownRows FamilyRows::along(const std::string& axis) const {
  ExperimentResults along = asked_for_;
  const std::vector<RecordRef> problem = preferred_problem(asked_for_);
  const ResultAxis* swept = axis_with(asked_for_, axis);
  for (const ResultAxis& other : asked_for_.axes) {
    if (&other == swept || !other.varies || problem.empty()) continue;
    const std::string value = other.column.text(problem.front());
    std::erase_if(along.rows,
                  [&](const ResultRecord& row) { return other.column.text(row) != value; });
  }
  std::vector<RecordRef> rows = without_repetitions(along);
  if (swept && swept->numeric) {
    std::ranges::stable_sort(rows, [&](const ResultRecord& a, const ResultRecord& b) {
      return swept->column.number(a).value_or(0) < swept->column.number(b).value_or(0);
    });
  }
  return shown(std::move(rows));
}

const ResultRecord* FamilyRows::reference_of(const ResultRecord& row) const {
  const std::string group = group_of(at_mode_, row);
  const ResultRecord* found = nullptr;
  for (const ResultRecord& other : at_mode_.rows) {
    if (other.variant != row.compare_to || !other.time_us() || group_of(at_mode_, other) != group)
      continue;
    if (other.experiment == row.experiment) return &other;
    if (!found) found = &other;
  }
  return found;
}

const ResultAxis* axis_with(const ExperimentResults& results, const std::string& parameter) {
  const auto found = std::ranges::find_if(results.axes, [&](const ResultAxis& axis) {
    return axis.varies && std::ranges::all_of(results.rows, [&](const ResultRecord& row) {
             return axis.column.text(row) == row.parameters.text(parameter);
           });
  });
  return found == results.axes.end() ? nullptr : &*found;
}

bool has_value(const ResultRecord& row, const Parameter& parameter, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return row.parameters.text(parameter.name) == *text;
  const auto* integer = std::get_if<std::int64_t>(&value);
  const double asked = integer ? static_cast<double>(*integer) : std::get<double>(value);
  const auto number = row.parameters.number(parameter.name);
  return number && *number == asked;
}

}  // namespace gpuexp
