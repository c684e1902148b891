// Published figures as tables: what was published, what the model makes of it here, what was
// measured, and whether that is a reproduction.
#pragma once

#include <string>
#include <vector>

#include "config/published_figure.hpp"
#include "record/result_record.hpp"
#include "render/view.hpp"

namespace gpuexp {

/// A view per figure, with the reasons of verdicts as its explanations.
std::vector<ExperimentView> figure_views(const std::vector<PublishedFigure>& figures,
                                         const std::vector<ResultRecord>& rows);

/// The same where nothing was run: without what was measured.
std::vector<ExperimentView> predicted_figure_views(const std::vector<PublishedFigure>& figures);

/// "published figures: 12 numbers reproduced, 1 not reproduced"; "" without any.
std::string figures_summary(const std::vector<PublishedFigure>& figures,
                            const std::vector<ResultRecord>& rows);

}  // namespace gpuexp
