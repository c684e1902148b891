// A report as the document that the viewer of HTML pages draws: summary, experiments, published
// figures, variants with their sources, provenance.
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

/// Refers to the report and the registry.
struct ReportDocument {
  const Report& report;
  const Registry& registry;
  DeviceRates rates;
  /// By family and variant: those that the program knows.
  std::map<std::pair<std::string, std::string>, VariantSource> sources = {};
  /// Which program the sources are of, if the results are of another one; else "".
  std::string sources_note = {};
};

/// Passes the page to `write`, part by part.
void write_html(const ReportDocument& document, const WritePart& write);

}  // namespace gpuexp
