#include "gpu/range_profiler.hpp"

#if GPUEXP_HAS_CUPTI
#include <array>
#include <utility>

#include <cupti_driver_cbid.h>
#include <cupti_profiler_target.h>
#include <cupti_runtime_cbid.h>
#include <cupti_target.h>

namespace gpuexp {

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
                                                    std::size_t ranges) const {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = const_cast<const char**>(metrics.data());
  size.numMetrics = metrics.size();
  size.maxNumOfRanges = ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
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
                              std::vector<std::uint8_t>& image, std::size_t ranges) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
  params.pRangeProfilerObject = object_;
  params.configSize = config.size();
  params.pConfig = config.data();
  params.counterDataImageSize = image.size();
  params.pCounterDataImage = image.data();
  params.range = CUPTI_UserRange;
  params.replayMode = CUPTI_UserReplay;
  params.maxRangesPerPass = ranges;
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

void RangeProfiler::push(const std::string& name) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, params);
  params.pRangeProfilerObject = object_;
  params.pRangeName = name.c_str();
  GPUEXP_CUPTI(cuptiRangeProfilerPushRange, &params);
}

void RangeProfiler::pop() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerPopRange, &params);
}

bool RangeProfiler::stop() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerStop, &params);
  return params.isAllPassSubmitted != 0;
}

void RangeProfiler::decode() {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
  params.pRangeProfilerObject = object_;
  GPUEXP_CUPTI(cuptiRangeProfilerDecodeData, &params);
}

namespace {

constexpr std::array kDriverCalls{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                  CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                  CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};
// The driver fills memory with its own kernels, which have no launch call.
constexpr std::array kRuntimeCalls{CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
                                   CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000};

}  // namespace

LaunchRanges::LaunchRanges(RangeProfiler& profiler) : profiler_(profiler) {
  GPUEXP_CUPTI(cuptiSubscribe, &subscriber_, &LaunchRanges::called, this);
  for (const CUpti_CallbackId call : kDriverCalls)
    GPUEXP_CUPTI_RESULT(cuptiEnableCallback, 1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
  for (const CUpti_CallbackId call : kRuntimeCalls)
    GPUEXP_CUPTI_RESULT(cuptiEnableCallback, 1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, call);
}

LaunchRanges::~LaunchRanges() {
  GPUEXP_CUPTI_RESULT(cuptiUnsubscribe, subscriber_);
}

void CUPTIAPI LaunchRanges::called(void* self, CUpti_CallbackDomain, CUpti_CallbackId,
                                   const void* data) {
  static_cast<LaunchRanges*>(self)->enqueued(*static_cast<const CUpti_CallbackData*>(data));
}

void LaunchRanges::open_whole(const std::string& name) {
  names_.push_back(name);
  if (names_.size() <= max_ranges_) profiler_.push(std::to_string(names_.size()));
}

void LaunchRanges::close_whole() {
  if (names_.size() <= max_ranges_) profiler_.pop();
}

void LaunchRanges::close() {
  is_open_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Throws no exception, because the driver calls this function.
void LaunchRanges::enqueued(const CUpti_CallbackData& call) try {
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (!is_open_ || inside_) return;
    names_.emplace_back(call.symbolName ? call.symbolName : call.functionName);
    if (names_.size() > max_ranges_) return;
    profiler_.push(std::to_string(names_.size()));
    inside_ = call.correlationData;
  } else if (inside_ && inside_ == call.correlationData) {
    inside_ = nullptr;
    profiler_.pop();
  }
} catch (...) {
  error_ = std::current_exception();
}

std::size_t ranges_in(const std::vector<std::uint8_t>& image) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, params);
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  GPUEXP_CUPTI(cuptiRangeProfilerGetCounterDataInfo, &params);
  return params.numTotalRanges;
}

}  // namespace gpuexp
#endif
