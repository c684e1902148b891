// Published figures as tables: published number, number expected on this device, model's result,
// measured number, verdict.
#pragma once

#include <string>
#include <vector>

#include "config/published_figure.hpp"
#include "record/result_record.hpp"
#include "render/view.hpp"

namespace gpuexp {

/// One view per figure; its explanations are the reasons for the verdicts.
std::vector<ExperimentView> figure_views(const std::vector<PublishedFigure>& figures,
                                         const std::vector<ResultRecord>& rows);

/// One view per figure, without measured numbers and verdicts.
std::vector<ExperimentView> predicted_figure_views(const std::vector<PublishedFigure>& figures);

/// "published numbers: 12 reproduced, 1 not reproduced"; "" if there are no figures.
std::string figures_summary(const std::vector<PublishedFigure>& figures,
                            const std::vector<ResultRecord>& rows);

}  // namespace gpuexp
