// A report as an HTML page: summary, experiments, published figures, variants with their sources,
// provenance.
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

/// Contents of the page. Report and registry must outlive this object.
struct ReportDocument {
  const Report& report;
  const Registry& registry;
  DeviceRates rates;
  /// Sources of the variants that the program knows, by family and variant.
  std::map<std::pair<std::string, std::string>, VariantSource> sources = {};
  /// Version of the sources if the results are from another version, else "".
  std::string sources_note = {};
};

void write_html(const ReportDocument& document, const WritePart& write);

}  // namespace gpuexp
