// What a report's page says beside its results: sources and machine code that this program has.
#pragma once

#include "cli/app.hpp"
#include "render/report_document.hpp"

namespace gpuexp::cli {

/// Of the report, which outlives it. Machine code is that for the report's GPU, of each variant at
/// the problem that takes longest.
ReportDocument html_page_of(const Context& context, const Report& report);

}  // namespace gpuexp::cli
