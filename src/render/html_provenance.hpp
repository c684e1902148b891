// The last section of a report's page: everything that is known of where its results are from.
#pragma once

#include <string>

#include "results/report.hpp"

namespace gpuexp {

std::string html_provenance(const Report& report);

}  // namespace gpuexp
