#include "render/figure_views.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "results/claim_outcomes.hpp"

namespace gpuexp {

namespace {

constexpr int kShownDigits = 3;

std::string number_cell(const std::optional<double>& number, const Claim& claim) {
  if (!number) return "";
  const std::string space = claim.unit.empty() || claim.unit == "×" ? "" : " ";
  return significant(*number, kShownDigits) + space + claim.unit;
}

std::string expected_cell(const Claim& claim, const ClaimOutcome& outcome) {
  return number_cell(outcome.expected, claim) + (outcome.is_transposed ? "" : ", unchanged");
}

std::string value_cell(const Claim& claim, const ClaimOutcome& outcome) {
  const std::string text = number_cell(outcome.value, claim);
  if (!outcome.value || outcome.origin == ValueOrigin::measured) return text;
  return fmt::format("{}, {}", text, name_of(outcome.origin));
}

ExperimentView figure_heading(const PublishedFigure& figure) {
  const FigureSource& source = figure.source;
  ExperimentView view;
  view.title = printable(figure.title);
  for (const std::string& fact :
       {fmt::format("{}: {}, {}", short_name_of(source), source.title, source.place),
        figure.published_on, source.address})
    view.facts.push_back(printable(fact));
  view.columns = {
      {"number", false}, {"published", true}, {"predicted here", true}, {"model's result", true}};
  view.first_number = 1;
  return view;
}

void add_row(ExperimentView& view, std::vector<std::string> cells) {
  ViewRow& row = view.rows.emplace_back();
  for (const std::string& cell : cells)
    row.cells.push_back(printable(cell));
}

std::vector<std::string> cells_of(const Claim& claim, const ClaimOutcome& outcome) {
  return {claim.name, number_cell(claim.published, claim), expected_cell(claim, outcome),
          number_cell(claim.model.here, claim)};
}

}  // namespace

std::vector<ExperimentView> figure_views(const std::vector<PublishedFigure>& figures,
                                         const std::vector<ResultRecord>& rows) {
  std::vector<ExperimentView> views;
  for (const PublishedFigure& figure : figures) {
    ExperimentView& view = views.emplace_back(figure_heading(figure));
    view.columns.push_back({"measured", true});
    view.columns.push_back({"verdict", false});
    for (const Claim& claim : figure.claims) {
      const ClaimOutcome outcome = outcome_of(claim, rows);
      std::vector<std::string> cells = cells_of(claim, outcome);
      cells.push_back(value_cell(claim, outcome));
      cells.emplace_back(name_of(outcome.verdict));
      add_row(view, std::move(cells));
      view.explanations.push_back(printable(fmt::format("{}: {}", claim.name, outcome.why)));
    }
  }
  return views;
}

std::vector<ExperimentView> predicted_figure_views(const std::vector<PublishedFigure>& figures) {
  std::vector<ExperimentView> views;
  for (const PublishedFigure& figure : figures) {
    ExperimentView& view = views.emplace_back(figure_heading(figure));
    for (const Claim& claim : figure.claims) {
      add_row(view, cells_of(claim, outcome_of(claim, {})));
      const std::string reason = printable("unchanged: " + claim.model.why_not);
      auto& reasons = view.explanations;
      const bool is_new = std::find(reasons.begin(), reasons.end(), reason) == reasons.end();
      if (!claim.model.why_not.empty() && is_new) reasons.push_back(reason);
    }
  }
  return views;
}

std::string figures_summary(const std::vector<PublishedFigure>& figures,
                            const std::vector<ResultRecord>& rows) {
  std::vector<std::string> parts;
  for (const ClaimVerdict verdict : kClaimVerdicts) {
    std::ptrdiff_t count = 0;
    for (const PublishedFigure& figure : figures) {
      count += std::ranges::count_if(figure.claims, [&](const Claim& claim) {
        return outcome_of(claim, rows).verdict == verdict;
      });
    }
    if (count > 0) parts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  return parts.empty() ? "" : fmt::format("published numbers: {}", fmt::join(parts, ", "));
}

}  // namespace gpuexp
