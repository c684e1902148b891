#include "gpu/cupti_chip.hpp"

#include <fmt/format.h>

#include "device/device_error.hpp"

namespace gpuexp {

#if GPUEXP_HAS_CUPTI
CuptiChip::CuptiChip(const std::string& name, const std::vector<std::uint8_t>& availability) {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = name.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  GPUEXP_CUPTI(cuptiProfilerHostInitialize, &params);
  object_ = params.pHostObject;
}
CuptiChip::~CuptiChip() {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
  params.pHostObject = object_;
  GPUEXP_CUPTI_RESULT(cuptiProfilerHostDeinitialize, &params);
}
bool CuptiChip::has(const std::string& metric) const {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
  params.pHostObject = object_;
  params.pMetricName = metric.c_str();
  return GPUEXP_CUPTI_RESULT(cuptiProfilerHostGetMetricProperties, &params) == CUPTI_SUCCESS;
}

std::vector<NsightMetric> CuptiChip::metrics() const {
  std::vector<NsightMetric> metrics;
  for (int type = 0; type < CUPTI_METRIC_TYPE__COUNT; ++type) {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, params);
    params.pHostObject = object_;
    params.metricType = static_cast<CUpti_MetricType>(type);
    GPUEXP_CUPTI(cuptiProfilerHostGetBaseMetrics, &params);
    for (std::size_t i = 0; i < params.numMetrics; ++i)
      metrics.push_back(properties(params.ppMetricNames[i]));
  }
  return metrics;
}

std::vector<std::uint8_t> CuptiChip::config_of(const std::vector<const char*>& metrics) const {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = object_;
  add.ppMetricNames = const_cast<const char**>(metrics.data());
  add.numMetrics = metrics.size();
  GPUEXP_CUPTI(cuptiProfilerHostConfigAddMetrics, &add);
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = object_;
  GPUEXP_CUPTI(cuptiProfilerHostGetConfigImageSize, &size);
  std::vector<std::uint8_t> image(size.configImageSize);
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, get);
  get.pHostObject = object_;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  GPUEXP_CUPTI(cuptiProfilerHostGetConfigImage, &get);
  return image;
}

std::vector<double> CuptiChip::values_of(const std::vector<std::uint8_t>& image,
                                         const std::vector<const char*>& metrics,
                                         std::size_t range) const {
  std::vector<double> values(metrics.size());
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
  params.pHostObject = object_;
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  params.rangeIndex = range;
  params.ppMetricNames = const_cast<const char**>(metrics.data());
  params.numMetrics = metrics.size();
  params.pMetricValues = values.data();
  GPUEXP_CUPTI(cuptiProfilerHostEvaluateToGpuValues, &params);
  return values;
}

NsightMetric CuptiChip::properties(const char* metric) const {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
  params.pHostObject = object_;
  params.pMetricName = metric;
  if (GPUEXP_CUPTI_RESULT(cuptiProfilerHostGetMetricProperties, &params) != CUPTI_SUCCESS)
    return {metric, "", ""};
  const auto text = [](const char* t) { return std::string(t ? t : ""); };
  return {metric, text(params.pDimUnit), text(params.pDescription)};
}

std::vector<NsightMetric> nsight_metrics(const std::string& chip) try {
  return CuptiChip(chip, {}).metrics();
} catch (const DeviceError& error) {
  throw CountersUnavailable(fmt::format("CUPTI has no metrics of {}: {}", chip, error.what()));
}
#else
std::vector<NsightMetric> nsight_metrics(const std::string&) {
  throw CountersUnavailable("built without the header of CUPTI's range profiler");
}
#endif

}  // namespace gpuexp
