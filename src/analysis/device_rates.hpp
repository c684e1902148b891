// The rates of a run's device, and the kernels of each row's launch.
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

struct DeviceRates {
  Ceilings ceilings;               ///< measured, or from the datasheet if not measured
  std::optional<double> sm_count;  ///< if empty, the rates of the SMs' resources are unknown
  std::optional<SmRates> sm_rates;
  /// By the row's key: number of counted kernels of the launch, including fills.
  std::map<std::string, double> kernels;
  std::map<std::string, double> fills;  ///< by the row's key: number of fills (memory sets)
  /// By the row's key: names of the counted kernels in order, without template arguments.
  std::map<std::string, std::vector<std::string>> names_of_kernels;
  /// By the row's key: counters of each kernel, if the launch has several.
  std::map<std::string, std::vector<NamedValues>> counters_of_kernels;
};

DeviceRates device_rates(const Report& report);

/// Number of kernels in the row's launch, including fills.
double kernels_of(const ResultRecord& row, const DeviceRates& rates);
double fills_of(const ResultRecord& row, const DeviceRates& rates);

}  // namespace gpuexp
