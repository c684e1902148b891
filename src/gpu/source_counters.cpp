#include "gpu/source_counters.hpp"

#include <cuda_runtime_api.h>

#include "device/device_error.hpp"
#include "gpu/counters_unavailable.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/cupti.hpp"

#if GPUEXP_HAS_CUPTI && __has_include(<cupti_sass_metrics.h>)
#include <map>
#include <utility>

#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

namespace gpuexp {

namespace {

/// Members of SourceCounts by CUPTI metric id.
using Metrics = std::map<std::uint64_t, double SourceCounts::*>;

Metrics metrics_of(const char* chip) {
  Metrics metrics;
  for (const SourceMetric& metric : source_metrics()) {
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetrics_GetProperties_Params, params);
    params.pChipName = chip;
    params.pMetricName = metric.name;
    GPUEXP_CUPTI(cuptiSassMetricsGetProperties, &params);
    metrics[params.metric.metricId] = metric.member;
  }
  return metrics;
}

}  // namespace

class SourceCounters::Impl {
 public:
  Impl() {
    const ProfiledDevice device = current_device_to_profile();
    context_ = device.context;
    device_ = static_cast<std::uint32_t>(device.index);
    metrics_ = metrics_of(device.chip.c_str());
    std::vector<CUpti_SassMetrics_Config> configs;
    for (const auto& [id, member] : metrics_)
      configs.push_back({id, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU});
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsSetConfig_Params, set);
    set.pConfigs = configs.data();
    set.numOfMetricConfig = configs.size();
    set.deviceIndex = device_;
    GPUEXP_CUPTI(cuptiSassMetricsSetConfig, &set);
    // No kernel may be launched between SetConfig and Enable: CUPTI 13.0 would select that kernel,
    // without results.
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsEnable_Params, enable);
    enable.ctx = context_;
    enable.enableLazyPatching = 1;  // patch a kernel when it is launched
    GPUEXP_CUPTI(cuptiSassMetricsEnable, &enable);
  }

  ~Impl() {
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsDisable_Params, disable);
    disable.ctx = context_;
    GPUEXP_CUPTI_RESULT(cuptiSassMetricsDisable, &disable);
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsUnsetConfig_Params, unset);
    unset.deviceIndex = device_;
    GPUEXP_CUPTI_RESULT(cuptiSassMetricsUnsetConfig, &unset);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Each record covers one instruction and, with granularity GPU, one value per metric.
  std::vector<CountedInstruction> read() const {
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsGetDataProperties_Params, properties);
    properties.ctx = context_;
    GPUEXP_CUPTI(cuptiSassMetricsGetDataProperties, &properties);
    const std::size_t records = properties.numOfPatchedInstructionRecords;
    const std::size_t instances = properties.numOfInstances;
    if (records == 0) return {};
    std::vector<CUpti_SassMetrics_InstanceValue> values(records * instances);
    std::vector<CUpti_SassMetrics_Data> data(records);
    for (std::size_t i = 0; i < records; ++i) {
      data[i].structSize = sizeof(CUpti_SassMetrics_Data);
      data[i].pInstanceValues = &values[i * instances];
    }
    GPUEXP_CUPTI_PARAMS(CUpti_SassMetricsFlushData_Params, flush);
    flush.ctx = context_;
    flush.numOfPatchedInstructionRecords = records;
    flush.numOfInstances = instances;
    flush.pMetricsData = data.data();
    GPUEXP_CUPTI(cuptiSassMetricsFlushData, &flush);
    std::map<std::pair<std::string, std::uint32_t>, SourceCounts> counts;
    for (const CUpti_SassMetrics_Data& record : data) {
      SourceCounts& found = counts[{record.functionName, record.pcOffset}];
      for (std::size_t k = 0; k < instances; ++k) {
        const CUpti_SassMetrics_InstanceValue& value = record.pInstanceValues[k];
        if (const auto metric = metrics_.find(value.metricId); metric != metrics_.end())
          found.*metric->second += static_cast<double>(value.value);
      }
    }
    std::vector<CountedInstruction> instructions;
    for (const auto& [place, sums] : counts)
      instructions.push_back({place.first, place.second, sums});
    return instructions;
  }

 private:
  CUcontext context_ = nullptr;
  std::uint32_t device_ = 0;
  Metrics metrics_;
};

}  // namespace gpuexp
#else
namespace gpuexp {

class SourceCounters::Impl {
 public:
  Impl() { throw CountersUnavailable("built without the header of CUPTI's SASS metrics"); }
  std::vector<CountedInstruction> read() const { return {}; }
};

}  // namespace gpuexp
#endif

namespace gpuexp {

SourceCounters::SourceCounters() try : impl_(std::make_unique<Impl>()) {
} catch (const DeviceError& error) {
  throw CountersUnavailable(error.what());
}
SourceCounters::~SourceCounters() = default;

std::vector<CountedInstruction> SourceCounters::read() {
  return impl_->read();
}

}  // namespace gpuexp
