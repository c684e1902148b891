// Results as one page of HTML that stands alone: no network, no script but the page's own, every
// text of the results escaped.
#pragma once

#include "base/output.hpp"
#include "render/html_content.hpp"

namespace gpuexp {

/// Hands the page to `write`, part by part.
void write_html(const HtmlReport& report, const WritePart& write);

}  // namespace gpuexp
