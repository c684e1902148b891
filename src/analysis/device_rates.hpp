// What the amounts of a run's rows are divided by, and the kernels that each row's launch consists
// of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/ceilings.hpp"
#include "device/hardware_sizes.hpp"
#include "record/named_values.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// What amounts of a run's rows are divided by.
struct DeviceRates {
  Ceilings ceilings;               ///< measured; the datasheet's where nothing was measured
  std::optional<double> sm_count;  ///< without it, resources of the SMs have no rate
  std::optional<SmRates> sm_rates;
  /// Kernels and fills of a row's launch, by the row's key; of rows that were counted.
  std::map<std::string, double> kernels;
  std::map<std::string, double> fills;  ///< of these, those that set memory to a value
  /// Their names in order, without template arguments.
  std::map<std::string, std::vector<std::string>> names_of_kernels;
  /// Counters of each of them, where there are several.
  std::map<std::string, std::vector<NamedValues>> counters_of_kernels;
};

/// As the report has it.
DeviceRates device_rates(const Report& report);

/// Kernels of the row's launch, fills included.
double kernels_of(const ResultRecord& row, const DeviceRates& rates);
/// Of these, fills.
double fills_of(const ResultRecord& row, const DeviceRates& rates);

}  // namespace gpuexp
