// Published figures in a report's JSON: the claims, and what the rows say of them.
#pragma once

#include <vector>

#include "base/json.hpp"
#include "config/published_figure.hpp"
#include "record/result_record.hpp"
#include "results/json_values.hpp"

namespace gpuexp {

/// With the outcome of each claim, which follows from the rows.
Json json_of_figures(const std::vector<PublishedFigure>& figures,
                     const std::vector<ResultRecord>& rows);

/// Passes over outcomes: whoever has the rows can tell.
std::vector<PublishedFigure> read_figures(JsonValues& values, const Place& place);

Json figure_schema();

}  // namespace gpuexp
