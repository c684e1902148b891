#include "cli/tuning_ranking.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"

namespace gpuexp::cli {

namespace {

const ResultRecord* executed_row(const TuningPoint& point, const Report& report) {
  const auto found = std::ranges::find(report.table.rows, point.key, &ResultRecord::key);
  return found == report.table.rows.end() ? nullptr : &*found;
}

std::optional<double> measured_us(const TuningPoint& point, const Report& report) {
  const ResultRecord* const record = executed_row(point, report);
  return record ? record->time_median_us : std::nullopt;
}

/// The executed points with a measured time, in the order of the ranking.
std::vector<const TuningPoint*> measured_points(const TuningProblem& problem,
                                                const Report& report) {
  std::vector<const TuningPoint*> points;
  for (const TuningPoint& point : problem.ranked)
    if (measured_us(point, report)) points.push_back(&point);
  return points;
}

/// Whether the point was executed, and its result is wrong or missing: no time makes it a good one.
bool has_failed(const TuningPoint& point, const Report& report) {
  const ResultRecord* const record = executed_row(point, report);
  return record && !record->has_values();
}

double ranking_time_us(const TuningPoint& point) {
  return point.predicted_us.value_or(std::numeric_limits<double>::infinity());
}

}  // namespace

TuningRanking::TuningRanking(const Plan& plan, const std::set<std::string>& tuned,
                             const KernelResources& resources,
                             const CodePredictorOptions& options) {
  const Family& family = *plan.config->experiments.front().family;
  for (const Parameter& parameter : family.parameters)
    if (tuned.contains(parameter.name)) names_.push_back(parameter.name);
  CodePredictor predictor(plan, resources, options);
  std::set<const Variant*> variants;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      variants.insert(cell.variant);
      add(plan, group, cell, resources, predictor);
    }
  }
  has_variants_ = variants.size() > 1;
  for (TuningProblem& problem : problems_)
    std::ranges::stable_sort(problem.ranked, {}, ranking_time_us);
}

void TuningRanking::add(const Plan& plan, const Group& group, const Cell& cell,
                        const KernelResources& resources, CodePredictor& predictor) {
  const Family& family = *plan.experiment(group).family;
  TuningPoint point{&group, &cell, {}, cell_key(plan, group, cell), {}, "", cell.skip_reason};
  for (std::size_t i = 0; i < family.parameters.size(); ++i) {
    if (std::ranges::find(names_, family.parameters[i].name) == names_.end()) continue;
    const bool is_used =
        std::ranges::find(cell.unused_parameters, i) == cell.unused_parameters.end();
    point.values.push_back(is_used ? to_string(group.values[i]) : "");
  }
  TuningProblem& problem = problem_of(plan, group);
  auto prediction = predict_cell(plan, group, cell, resources);
  if (!prediction) return problem.skipped.push_back(std::move(point));
  predictor.refine(cell, *prediction);
  if (prediction->has_faulted) {
    point.skip_reason = "its kernel faults: " + prediction->why_no_time;
    return problem.skipped.push_back(std::move(point));
  }
  point.predicted_us = prediction->time_us;
  point.bound_by = prediction->time_us ? prediction->bound_by : prediction->why_no_time;
  problem.ranked.push_back(std::move(point));
}

TuningProblem& TuningRanking::problem_of(const Plan& plan, const Group& group) {
  const Family& family = *plan.experiment(group).family;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < family.parameters.size(); ++i) {
    const std::string& name = family.parameters[i].name;
    if (std::ranges::find(names_, name) == names_.end())
      parts.push_back(fmt::format("{} = {}", name, to_string(group.values[i])));
  }
  parts.emplace_back(name_of(group.mode));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  const auto known = std::ranges::find(problems_, text, &TuningProblem::text);
  if (known != problems_.end()) return *known;
  return problems_.emplace_back(TuningProblem{std::move(text), {}, {}});
}

void TuningRanking::keep_best(Plan& plan, std::size_t count) const {
  std::map<std::string, std::string> reasons;
  for (const TuningProblem& problem : problems_) {
    for (const TuningPoint& point : problem.skipped)
      reasons[point.key] = point.skip_reason;
    for (std::size_t i = count; i < problem.ranked.size(); ++i) {
      const TuningPoint& point = problem.ranked[i];
      reasons[point.key] =
          fmt::format("predicted {}, {} of {}: only the best {} are executed",
                      point.predicted_us ? time_text(*point.predicted_us) : "no time", i + 1,
                      problem.ranked.size(), count);
    }
  }
  for (Group& group : plan.groups) {
    for (Cell& cell : group.cells) {
      const auto reason = reasons.find(cell_key(plan, group, cell));
      if (reason != reasons.end()) cell.skip_reason = reason->second;
    }
  }
}

std::string TuningRanking::point_text(const TuningPoint& point) const {
  std::vector<std::string> parts;
  if (has_variants_) parts.push_back(point.cell->variant->id);
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!point.values[i].empty()) parts.push_back(fmt::format("{}={}", names_[i], point.values[i]));
  return parts.empty() ? point.cell->variant->id : fmt::format("{}", fmt::join(parts, ", "));
}

std::string TuningRanking::table(const TuningProblem& problem, std::size_t count,
                                 const Report* report) const {
  TextTable table;
  table.add_column("rank", Align::right);
  if (has_variants_) table.add_column("variant", Align::left);
  for (const std::string& name : names_)
    table.add_column(name, Align::right);
  table.add_column("predicted", Align::right);
  table.add_column("bound by", Align::left);
  const bool is_measured = report && !report->provenance.device.is_simulated();
  if (is_measured) table.add_column("measured", Align::right);
  if (report) table.add_column("status", Align::left);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < std::min(count, problem.ranked.size()); ++i) {
    const TuningPoint& point = problem.ranked[i];
    if (report && has_failed(point, *report)) continue;
    std::vector<std::string> row{std::to_string(++rank)};
    if (has_variants_) row.push_back(point.cell->variant->id);
    for (const std::string& value : point.values)
      row.push_back(value.empty() ? "-" : value);
    row.push_back(point.predicted_us ? time_text(*point.predicted_us) : "none");
    row.push_back(point.bound_by);
    const ResultRecord* const record = report ? executed_row(point, *report) : nullptr;
    if (record) {
      if (is_measured)
        row.push_back(record->time_median_us ? time_text(*record->time_median_us) : "");
      row.emplace_back(record->status ? name_of(*record->status) : "");
    }
    table.add_row(row);
  }
  std::string text = table.render();
  if (problem.ranked.size() > count)
    text += fmt::format("{} (--best {})\n", counted(problem.ranked.size() - count, "slower point"),
                        problem.ranked.size());
  return text;
}

// Requirements exclude points that the user does not want: their number is enough.
std::string TuningRanking::skipped(const TuningProblem& problem) const {
  std::string text;
  std::map<std::string, std::size_t> excluded;
  std::vector<NamedText> reasons;
  for (const TuningPoint& point : problem.skipped) {
    if (point.skip_reason.starts_with("requires "))
      ++excluded[point.skip_reason];
    else
      add_name(reasons, point.skip_reason, point_text(point));
  }
  for (const auto& [reason, points] : reasons)
    text += fmt::format("skipped: {}: {}\n", fmt::join(points, "; "), reason);
  for (const auto& [reason, points] : excluded)
    text += fmt::format("skipped: {}: {}\n", counted(points, "point"), reason);
  return text;
}

std::string TuningRanking::failed(const TuningProblem& problem, std::size_t count,
                                  const Report& report) const {
  std::vector<NamedText> reasons;
  for (std::size_t i = 0; i < std::min(count, problem.ranked.size()); ++i) {
    const TuningPoint& point = problem.ranked[i];
    if (!has_failed(point, report)) continue;
    const ResultRecord& record = *executed_row(point, report);
    add_name(
        reasons,
        fmt::format("{}: {}", record.status ? name_of(*record.status) : "no result", record.reason),
        point_text(point));
  }
  std::string text;
  for (const auto& [reason, points] : reasons)
    text += fmt::format("not ranked: {}: {}\n", fmt::join(points, "; "), reason);
  return text;
}

std::string TuningRanking::distance(const TuningProblem& problem, const Report& report) const {
  const std::vector<const TuningPoint*> measured = measured_points(problem, report);
  if (measured.empty()) return "";
  const auto time_us = [&](const TuningPoint* point) { return *measured_us(*point, report); };
  const TuningPoint* const best = *std::ranges::min_element(measured, {}, time_us);
  const TuningPoint* const predicted = measured.front();
  if (best == predicted)
    return fmt::format("best: {}, {}; it is also the best by prediction\n", point_text(*best),
                       time_text(time_us(best)));
  const auto rank = std::ranges::find(measured, best) - measured.begin() + 1;
  return fmt::format(
      "best: {}, {}; the best by prediction, {}, takes {:.1f} % longer, and the "
      "measured best is {} of {} by prediction\n",
      point_text(*best), time_text(time_us(best)), point_text(*predicted),
      100 * (time_us(predicted) / time_us(best) - 1), rank, measured.size());
}

std::string TuningRanking::verified_text(std::size_t count, const Report& report) const {
  std::size_t executed = 0;
  std::size_t verified = 0;
  bool has_others = false;
  for (const TuningProblem& problem : problems_) {
    has_others |= problem.ranked.size() > count;
    for (std::size_t i = 0; i < std::min(count, problem.ranked.size()); ++i) {
      const ResultRecord* const record = executed_row(problem.ranked[i], report);
      ++executed;
      verified += record && has_passed(record->status);
    }
  }
  const std::string were = noun_for(executed, "was", "were");
  if (verified < executed)
    return fmt::format("{} of {} {} verified", verified, counted(executed, "point"), were);
  return fmt::format("{}{} {} verified", has_others ? "the best " : "", counted(executed, "point"),
                     were);
}

std::string TuningRanking::text(std::size_t count, const Report* report) const {
  std::string text;
  for (const TuningProblem& problem : problems_) {
    text += fmt::format("{}\n{}{}", problem.text, table(problem, count, report), skipped(problem));
    if (report) text += failed(problem, count, *report) + distance(problem, *report);
    text += "\n";
  }
  return text;
}

}  // namespace gpuexp::cli
