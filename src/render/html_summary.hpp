// The first section of a report's page: where results are from, and what they come to.
#pragma once

#include <string>
#include <vector>

#include "render/html_content.hpp"
#include "results/results.hpp"

namespace gpuexp {

std::string html_summary(const HtmlReport& page, const std::vector<ExperimentResults>& experiments);

}  // namespace gpuexp
