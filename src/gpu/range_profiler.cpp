#include "gpu/range_profiler.hpp"

#if GPUEXP_HAS_CUPTI
#include <cupti_profiler_target.h>
#include <cupti_target.h>

namespace gpuexp {

KernelNames::KernelNames() {
  subscribed_ = GPUEXP_CUPTI_RESULT(cuptiSubscribe, &subscriber_, &KernelNames::called, this) ==
                CUPTI_SUCCESS;
  if (!subscribed_) return;
  for (const CUpti_CallbackId launch : kLaunches)
    GPUEXP_CUPTI_RESULT(cuptiEnableCallback, 1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, launch);
}

KernelNames::~KernelNames() {
  if (subscribed_) GPUEXP_CUPTI_RESULT(cuptiUnsubscribe, subscriber_);
}

void CUPTIAPI KernelNames::called(void* self, CUpti_CallbackDomain, CUpti_CallbackId,
                                  const void* data) {
  auto& names = *static_cast<KernelNames*>(self);
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (!names.listening_ || call.callbackSite != CUPTI_API_ENTER) return;
  names.names_.emplace_back(call.symbolName ? call.symbolName : "");
}

RangeProfiler::RangeProfiler(CUcontext context) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, params);
  params.ctx = context;
  GPUEXP_CUPTI(cuptiRangeProfilerEnable, &params);
  object_ = params.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI_RESULT(cuptiRangeProfilerDisable, &params);
}

std::vector<std::uint8_t> RangeProfiler::make_image(const std::vector<const char*>& metrics,
                                                    std::size_t kernels) const {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = const_cast<const char**>(metrics.data());
  size.numMetrics = metrics.size();
  size.maxNumOfRanges = kernels;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(kernels);
  GPUEXP_CUPTI(cuptiRangeProfilerGetCounterDataSize, &size);
  std::vector<std::uint8_t> image(size.counterDataSize);
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
  initialize.pRangeProfilerObject = object_;
  initialize.counterDataSize = image.size();
  initialize.pCounterData = image.data();
  GPUEXP_CUPTI(cuptiRangeProfilerCounterDataImageInitialize, &initialize);
  return image;
}

void RangeProfiler::configure(const std::vector<std::uint8_t>& config,
                              std::vector<std::uint8_t>& image, std::size_t kernels) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
  params.pRangeProfilerObject = object_;
  params.configSize = config.size();
  params.pConfig = config.data();
  params.counterDataImageSize = image.size();
  params.pCounterDataImage = image.data();
  params.range = CUPTI_AutoRange;
  params.replayMode = CUPTI_UserReplay;
  params.maxRangesPerPass = kernels;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.targetNestingLevel = 1;
  GPUEXP_CUPTI(cuptiRangeProfilerSetConfig, &params);
}

void RangeProfiler::start() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerStart, &params);
}

bool RangeProfiler::stop() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerStop, &params);
  return params.isAllPassSubmitted != 0;
}

std::size_t RangeProfiler::decode() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerDecodeData, &params);
  return params.numOfRangeDropped;
}

std::size_t kernels_in(const std::vector<std::uint8_t>& image) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, params);
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  GPUEXP_CUPTI(cuptiRangeProfilerGetCounterDataInfo, &params);
  return params.numTotalRanges;
}

}  // namespace gpuexp
#endif
