// One experiment on a report's page: its question, figures, table and explanations.
#pragma once

#include <cstddef>
#include <string>

#include "render/html_content.hpp"
#include "render/view.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// `number` counts from 1.
std::string html_experiment(const HtmlReport& page, const ExperimentResults& experiment,
                            const ExperimentView& view, std::size_t number);

/// "e1": the id of the experiment's element.
std::string experiment_id(std::size_t number);

/// A published figure, by its view.
std::string html_published_figure(const ExperimentView& view);

}  // namespace gpuexp
