#pragma once

#include <vector>

#include "base/json.hpp"
#include "config/published_figure.hpp"
#include "record/result_record.hpp"
#include "results/json_values.hpp"

namespace gpuexp {

Json json_of_figures(const std::vector<PublishedFigure>& figures,
                     const std::vector<ResultRecord>& rows);

/// Reads the figures. Outcomes are not read, because the rows determine them.
std::vector<PublishedFigure> read_figures(JsonValues& values, const Place& place);

Json figure_schema();

}  // namespace gpuexp
