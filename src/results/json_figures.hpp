// Published figures in a report's JSON: claims and their outcomes.
#pragma once

#include <vector>

#include "base/json.hpp"
#include "config/published_figure.hpp"
#include "record/result_record.hpp"
#include "results/json_values.hpp"

namespace gpuexp {

/// The figures with the outcome of each claim, computed from the rows.
Json json_of_figures(const std::vector<PublishedFigure>& figures,
                     const std::vector<ResultRecord>& rows);

/// Reads the figures without outcomes, which the rows determine.
std::vector<PublishedFigure> read_figures(JsonValues& values, const Place& place);

Json figure_schema();

}  // namespace gpuexp
