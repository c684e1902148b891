// Rates of the device of a run, and the kernels of each row's launch.
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

/// Rates by which amounts are divided, and the kernels of launches.
struct DeviceRates {
  Ceilings ceilings;               ///< measured, or the datasheet's if not measured
  std::optional<double> sm_count;  ///< if empty, resources of the SMs have no rate
  std::optional<SmRates> sm_rates;
  /// Number of kernels and fills in a row's launch, by the row's key; only for counted rows.
  std::map<std::string, double> kernels;
  std::map<std::string, double> fills;  ///< number of fills (memory sets) among these
  /// Names of the kernels in order, without template arguments.
  std::map<std::string, std::vector<std::string>> names_of_kernels;
  /// Counters of each kernel, if there are several.
  std::map<std::string, std::vector<NamedValues>> counters_of_kernels;
};

/// The rates and kernels of a report.
DeviceRates device_rates(const Report& report);

/// Number of kernels in the row's launch, including fills.
double kernels_of(const ResultRecord& row, const DeviceRates& rates);
/// Number of fills in the row's launch.
double fills_of(const ResultRecord& row, const DeviceRates& rates);

}  // namespace gpuexp
