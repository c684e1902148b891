#include "analysis/device_rates.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "record/fixed_columns.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kFillName = "cudaMemsetAsync";  // a fill's name among counted kernels

std::optional<SmRates> rates_for(const std::optional<std::string>& compute_capability) {
  if (!compute_capability) return std::nullopt;
  const auto point = compute_capability->find('.');
  if (point == std::string::npos) return std::nullopt;
  try {
    return sm_rates(std::stoi(compute_capability->substr(0, point)),
                    std::stoi(compute_capability->substr(point + 1)));
  } catch (const std::logic_error&) {  // the capability is not a number, or is unknown
    return std::nullopt;
  }
}

Ceilings ceilings_of(const Provenance& provenance) {
  Ceilings ceilings;
  if (provenance.ceilings) {
    for (const CeilingProvenance& c : provenance.ceilings->values) {
      const CeilingTerm* term = find_ceiling_term(c.id);
      const auto& ceiling = c.value ? c.value : c.datasheet;
      if (term && ceiling && *ceiling > 0) term->of(ceilings) = term->scale * *ceiling;
    }
  }
  DeviceSpec device;
  device.memory_bytes_per_s = provenance.device.memory_bytes_per_s.value_or(0);
  device.sm_clock_max_mhz = static_cast<double>(provenance.device.sm_clock_max_mhz.value_or(0));
  return completed(ceilings, datasheet_ceilings(device));
}

// Merged results list a launch's kernels once per GPU; only the first GPU's list is used.
class KernelsOfRows {
 public:
  KernelsOfRows(const Table& kernels, DeviceRates& rates) : kernels_(kernels), rates_(rates) {
    auto names = std::make_shared<NameList>();
    for (std::size_t i = 0; i < kernels.columns.size(); ++i) {
      const std::string& column = kernels.columns[i].name;
      if (!column.starts_with(kCounterPrefix)) continue;
      names->add(column.substr(kCounterPrefix.size()));
      places_.push_back(i);
    }
    names_ = std::move(names);
  }

  void add_all() {
    const auto key = kernels_.column("key");
    const auto gpu = kernels_.column(fixed_column(&ResultRecord::gpu_uuid).name);
    const auto name = kernels_.column("name");
    std::map<std::string, Field> gpu_of;
    for (const auto& kernel : kernels_.rows) {
      const auto* row = key ? std::get_if<std::string>(&kernel[*key]) : nullptr;
      if (!row) continue;
      const Field own = gpu ? kernel[*gpu] : Field();
      if (gpu_of.try_emplace(*row, own).first->second != own) continue;
      rates_.kernels[*row] += 1;
      if (name) add_name(*row, kernel[*name]);
      if (!places_.empty()) rates_.counters_of_kernels[*row].push_back(counters_of(kernel));
    }
    std::erase_if(rates_.counters_of_kernels,
                  [](const auto& row) { return row.second.size() < 2; });
  }

 private:
  void add_name(const std::string& row, const Field& field) {
    const auto* name = std::get_if<std::string>(&field);
    if (!name) return;
    if (*name == kFillName) rates_.fills[row] += 1;
    rates_.names_of_kernels[row].push_back(name->substr(0, name->find('<')));
  }

  NamedValues counters_of(const std::vector<Field>& kernel) const {
    NamedValues values(names_);
    for (std::size_t i = 0; i < places_.size(); ++i)
      values.at(i) = kernel[places_[i]];
    return values;
  }

  const Table& kernels_;
  DeviceRates& rates_;
  std::shared_ptr<const NameList> names_;
  std::vector<std::size_t> places_;  // column indices of names_
};

}  // namespace

DeviceRates device_rates(const Report& report) {
  const DeviceProvenance& device = report.provenance.device;
  DeviceRates rates;
  rates.ceilings = ceilings_of(report.provenance);
  if (device.sm_count) rates.sm_count = static_cast<double>(*device.sm_count);
  rates.sm_rates = rates_for(device.compute_capability);
  KernelsOfRows(report.kernels, rates).add_all();
  return rates;
}

double fills_of(const ResultRecord& row, const DeviceRates& rates) {
  const auto fills = rates.fills.find(row.key);
  return fills == rates.fills.end() ? 0 : fills->second;
}

double kernels_of(const ResultRecord& row, const DeviceRates& rates) {
  // Kernels of libraries are known only if they are counted. If a launch has hundreds of kernels,
  // only the first is counted.
  const auto counted = rates.kernels.find(row.key);
  return std::max(counted == rates.kernels.end() ? 1.0 : counted->second,
                  fills_of(row, rates) + static_cast<double>(row.kernel_launches.value_or(1)));
}

}  // namespace gpuexp
