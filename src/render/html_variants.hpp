// The variants of a report's page, by family: why each exists, and its annotated source.
#pragma once

#include <string>
#include <vector>

#include "render/html_content.hpp"
#include "results/results.hpp"

namespace gpuexp {

std::string html_variants(const HtmlReport& page,
                          const std::vector<ExperimentResults>& experiments);

/// Lines with their numbers and machine instructions, as the content of <pre>.
std::string source_listing(const SourcePart& part);

}  // namespace gpuexp
