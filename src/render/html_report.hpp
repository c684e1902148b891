// Results as one page of HTML that stands alone: no network, no script but the page's own, every
// text of the results escaped. What it says of kernels, the program knows: results hold none of it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "analysis/least_times.hpp"
#include "analysis/variant_source.hpp"
#include "base/output.hpp"
#include "family/registry.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// What a page is made of; refers to what it is given.
struct HtmlReport {
  const Report& report;
  const Registry& registry;
  DeviceRates rates;
  /// By family and variant: of those that the program knows.
  std::map<std::pair<std::string, std::string>, VariantSource> sources = {};
  /// What the sources are of, where that is not what was measured; else "".
  std::string sources_note = {};
};

/// Hands the page to `write`, part by part.
void write_html(const HtmlReport& report, const WritePart& write);

}  // namespace gpuexp
