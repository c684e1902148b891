// What a report's page is made of: the results, and what the program knows of their kernels.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "analysis/least_times.hpp"
#include "analysis/variant_source.hpp"
#include "family/registry.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Refers to what it is given.
struct HtmlReport {
  const Report& report;
  const Registry& registry;
  DeviceRates rates;
  /// By family and variant: of those that the program knows.
  std::map<std::pair<std::string, std::string>, VariantSource> sources = {};
  /// What the sources are of, where that is not what was measured; else "".
  std::string sources_note = {};
};

}  // namespace gpuexp
