#include "gpu/hardware_counters.hpp"

#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/driver_function.hpp"
#include "gpu/shared_library.hpp"

#if __has_include(<cupti_range_profiler.h>)
#include <array>
#include <map>
#include <optional>

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <dlfcn.h>

// Every call of CUPTI takes one structure that begins with its size.
#define GPUEXP_CUPTI_PARAMS(type, name) \
  type name{};                          \
  name.structSize = type##_STRUCT_SIZE
#define GPUEXP_CUPTI_RESULT(function, ...) cupti().find<decltype(&function)>(#function)(__VA_ARGS__)
#define GPUEXP_CUPTI(function, ...) check(GPUEXP_CUPTI_RESULT(function, __VA_ARGS__), #function)

namespace gpuexp {

namespace {

/// CUPTI, loaded once.
class Cupti {
 public:
  Cupti() {
    std::string reason;
    // CUDA 13 numbers the library like itself, CUDA 12 by year.
    handle_ = open_library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, reason);
    if (!handle_) {
      throw CountersUnavailable(fmt::format(
          "CUPTI cannot be loaded ({}); it comes with the CUDA Toolkit, under extras/CUPTI",
          reason));
    }
  }

  template <class Function>
  Function find(const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (!symbol)
      throw CountersUnavailable(fmt::format("the CUPTI found here lacks {}: too old", name));
    return reinterpret_cast<Function>(symbol);
  }

 private:
  void* handle_ = nullptr;
};

const Cupti& cupti() {
  static const Cupti kLoaded;
  return kLoaded;
}

constexpr const char* kPermission =
    "the driver gives counters to administrators alone; run as root, with CAP_SYS_ADMIN, or load "
    "the kernel module with NVreg_RestrictProfilingToAdminUsers=0";

void check(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) throw CountersUnavailable(kPermission);
  const char* name = "";
  GPUEXP_CUPTI_RESULT(cuptiGetResultString, result, &name);
  throw DeviceError(fmt::format("{}: {}", call, name), DeviceFault::refused);
}

/// CUPTI's tables of one chip: which metrics there are, and how counts become metrics.
class Chip {
 public:
  /// `availability` is the device's own image of what it can count; empty without a device.
  Chip(const std::string& name, const std::vector<std::uint8_t>& availability) {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = name.c_str();
    params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    GPUEXP_CUPTI(cuptiProfilerHostInitialize, &params);
    object_ = params.pHostObject;
  }
  ~Chip() {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
    params.pHostObject = object_;
    GPUEXP_CUPTI_RESULT(cuptiProfilerHostDeinitialize, &params);
  }
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  CUpti_Profiler_Host_Object* object() const { return object_; }

  bool has(const std::string& metric) const {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
    params.pHostObject = object_;
    params.pMetricName = metric.c_str();
    return GPUEXP_CUPTI_RESULT(cuptiProfilerHostGetMetricProperties, &params) == CUPTI_SUCCESS;
  }

  std::vector<NsightMetric> metrics() const {
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

  /// What the range profiler needs to count these metrics.
  std::vector<std::uint8_t> config_of(const std::vector<const char*>& metrics) const {
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

 private:
  NsightMetric properties(const char* metric) const {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
    params.pHostObject = object_;
    params.pMetricName = metric;
    if (GPUEXP_CUPTI_RESULT(cuptiProfilerHostGetMetricProperties, &params) != CUPTI_SUCCESS)
      return {metric, "", ""};
    const auto text = [](const char* t) { return std::string(t ? t : ""); };
    return {metric, text(params.pDimUnit), text(params.pDescription)};
  }

  CUpti_Profiler_Host_Object* object_ = nullptr;
};

CUcontext current_context() {
  GPUEXP_CUDA(cudaFree(nullptr));  // makes it
  CUcontext context = nullptr;
  if (const auto get = driver_function_as<CUresult (*)(CUcontext*)>("cuCtxGetCurrent"))
    get(&context);
  if (!context) throw CountersUnavailable("the device has no current context");
  return context;
}

/// What keeps this device or its set-up from being profiled; empty where nothing does.
std::string unsupported(int device) {
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, params);
  params.cuDevice = device;
  params.api = CUPTI_PROFILER_RANGE_PROFILING;
  GPUEXP_CUPTI(cuptiProfilerDeviceSupported, &params);
  if (params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return "";
  const std::array causes{std::pair{params.architecture, "an architecture before 7.5"},
                          std::pair{params.sli, "SLI"},
                          std::pair{params.vGpu, "a virtual GPU without profiling"},
                          std::pair{params.confidentialCompute, "confidential computing"},
                          std::pair{params.cmp, "a mining processor"},
                          std::pair{params.wsl, "this version of WSL"}};
  for (const auto& [level, cause] : causes) {
    if (level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return cause;
  }
  return "an unknown cause";
}

/// Writes down the names of the kernels that are launched between listen() and heard(), also those
/// of libraries.
class KernelNames {
 public:
  KernelNames() {
    subscribed_ = GPUEXP_CUPTI_RESULT(cuptiSubscribe, &subscriber_, &KernelNames::called, this) ==
                  CUPTI_SUCCESS;
    if (!subscribed_) return;
    for (const CUpti_CallbackId launch : kLaunches)
      GPUEXP_CUPTI_RESULT(cuptiEnableCallback, 1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, launch);
  }
  ~KernelNames() {
    if (subscribed_) GPUEXP_CUPTI_RESULT(cuptiUnsubscribe, subscriber_);
  }
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;

  void listen() {
    names_.clear();
    listening_ = true;
  }
  std::size_t so_far() const { return names_.size(); }
  const std::vector<std::string>& heard() {
    listening_ = false;
    return names_;
  }

 private:
  static constexpr std::array<CUpti_CallbackId, 6> kLaunches{
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};

  static void CUPTIAPI called(void* self, CUpti_CallbackDomain, CUpti_CallbackId,
                              const void* data) {
    auto& names = *static_cast<KernelNames*>(self);
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (!names.listening_ || call.callbackSite != CUPTI_API_ENTER) return;
    names.names_.emplace_back(call.symbolName ? call.symbolName : "");
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool subscribed_ = false;
  bool listening_ = false;
  std::vector<std::string> names_;
};

/// The range profiler of a context, from construction to destruction.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context) {
    GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, params);
    params.ctx = context;
    GPUEXP_CUPTI(cuptiRangeProfilerEnable, &params);
    object_ = params.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
    params.pRangeProfilerObject = object_;
    GPUEXP_CUPTI_RESULT(cuptiRangeProfilerDisable, &params);
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// An image for the counts of so many kernels.
  std::vector<std::uint8_t> make_image(const std::vector<const char*>& metrics,
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

  /// Each kernel is a range, and the caller repeats the launch for each pass.
  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& image,
                 std::size_t kernels) {
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

  void start() {
    GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, params);
    params.pRangeProfilerObject = object_;
    GPUEXP_CUPTI(cuptiRangeProfilerStart, &params);
  }

  /// True after the last pass.
  bool stop() {
    GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
    params.pRangeProfilerObject = object_;
    GPUEXP_CUPTI(cuptiRangeProfilerStop, &params);
    return params.isAllPassSubmitted != 0;
  }

  /// Completes the image; returns how many kernels did not fit into it.
  std::size_t decode() {
    GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = object_;
    GPUEXP_CUPTI(cuptiRangeProfilerDecodeData, &params);
    return params.numOfRangeDropped;
  }

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// What stays in force from one launch that is counted to the next: enabling the profiler,
/// subscribing to launches and laying out images is the same work for every one of them.
struct ProfilerSession {
  explicit ProfilerSession(CUcontext context) : profiler(context) {}

  /// An image without counts, to be copied.
  const std::vector<std::uint8_t>& blank_image(const std::vector<std::string>& metrics,
                                               const std::vector<const char*>& names,
                                               std::size_t kernels) {
    const auto [found, is_new] = blank_images.try_emplace(metrics);
    if (is_new) found->second = profiler.make_image(names, kernels);
    return found->second;
  }

  RangeProfiler profiler;
  KernelNames kernel_names;
  std::map<std::vector<std::string>, std::vector<std::uint8_t>> blank_images;
};

std::size_t kernels_in(const std::vector<std::uint8_t>& image) {
  GPUEXP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, params);
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  GPUEXP_CUPTI(cuptiRangeProfilerGetCounterDataInfo, &params);
  return params.numTotalRanges;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace

class HardwareCounters::Impl {
 public:
  Impl() : context_(current_context()) {
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
    GPUEXP_CUPTI(cuptiProfilerInitialize, &initialize);
    int device = 0;
    GPUEXP_CUDA(cudaGetDevice(&device));
    if (const std::string cause = unsupported(device); !cause.empty())
      throw CountersUnavailable("CUPTI does not profile this device: " + cause);
    GPUEXP_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
    chip.deviceIndex = static_cast<std::size_t>(device);
    GPUEXP_CUPTI(cuptiDeviceGetChipName, &chip);
    chip_ = chip.pChipName;
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available);
    available.ctx = context_;
    GPUEXP_CUPTI(cuptiProfilerGetCounterAvailability, &available);
    availability_.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability_.data();
    GPUEXP_CUPTI(cuptiProfilerGetCounterAvailability, &available);
    // Whoever may not count is told here, and not after minutes of timing.
    const RangeProfiler once(context_);
  }

  std::vector<std::string> unknown(const std::vector<std::string>& metrics) const {
    const Chip chip(chip_, availability_);
    std::vector<std::string> unknown;
    for (const std::string& metric : metrics) {
      if (!chip.has(metric)) unknown.push_back(metric);
    }
    return unknown;
  }

  std::vector<LaunchCounts> count(const std::vector<std::string>& metrics,
                                  const std::vector<Launch>& launches) {
    if (auto counts = count_together(metrics, launches)) return *std::move(counts);
    std::vector<LaunchCounts> counts;
    for (const Launch& launch : launches)
      counts.push_back(count_together(metrics, {launch})->front());
    return counts;
  }

  void release() { session_.reset(); }

 private:
  struct Configured {
    std::unique_ptr<Chip> chip;
    std::vector<std::uint8_t> image;
  };

  /// The kernels of a pass in the order in which they ran.
  struct Pass {
    std::vector<std::string> names;
    std::vector<std::size_t> begins;  ///< of each launch, its first kernel's place in `names`
    std::vector<std::size_t> ends;
  };

  Configured& configured_for(const std::vector<std::string>& metrics) {
    const auto [found, is_new] = configs_.try_emplace(metrics);
    if (is_new) {
      found->second.chip = std::make_unique<Chip>(chip_, availability_);
      found->second.image = found->second.chip->config_of(pointers_to(metrics));
    }
    return found->second;
  }

  /// Empty where several launches cannot be told apart: the GPU counts a kernel for which nobody
  /// called, such as one of a fill.
  std::optional<std::vector<LaunchCounts>> count_together(const std::vector<std::string>& metrics,
                                                          const std::vector<Launch>& launches) {
    Configured& configured = configured_for(metrics);
    const std::vector<const char*> names = pointers_to(metrics);
    constexpr std::size_t kMostKernels = 4096;
    for (;; kernels_ *= 4) {
      if (!session_) session_.emplace(context_);
      RangeProfiler& profiler = session_->profiler;
      std::vector<std::uint8_t> image = session_->blank_image(metrics, names, kernels_);
      profiler.configure(configured.image, image, kernels_);
      int passes = 0;
      Pass pass = replay(launches, passes);
      // Kernels beyond what the image has room for are left out, and not always reported. A
      // profiler keeps the room that it was first given, so that more takes another one.
      const std::size_t counted = kernels_in(image);
      const bool is_cut =
          profiler.decode() > 0 || counted == kernels_ || counted < pass.names.size();
      if (is_cut && kernels_ >= kMostKernels)
        throw DeviceError(fmt::format("the profiler counted {} of {} kernels of a launch", counted,
                                      pass.names.size()),
                          DeviceFault::refused);
      if (is_cut) {
        session_.reset();
        continue;
      }
      if (pass.names.size() != counted) {
        if (launches.size() > 1) return std::nullopt;
        pass = {std::vector<std::string>(counted), {0}, {counted}};
      }
      std::vector<LaunchCounts> counts;
      for (std::size_t i = 0; i < launches.size(); ++i) {
        LaunchCounts& of_launch = counts.emplace_back(LaunchCounts{metrics, {}, passes});
        for (std::size_t k = pass.begins[i]; k < pass.ends[i]; ++k) {
          of_launch.kernels.push_back(
              {pass.names[k], values_of(*configured.chip, image, names, k)});
        }
      }
      return counts;
    }
  }

  /// All passes. What prepares the first launch of each is not counted, and not slowed down.
  Pass replay(const std::vector<Launch>& launches, int& passes) try {
    Pass pass;
    KernelNames& kernel_names = session_->kernel_names;
    for (bool is_last = false; !is_last; ++passes) {
      pass = {};
      launches.front().prepare();
      session_->profiler.start();
      kernel_names.listen();
      for (std::size_t i = 0; i < launches.size(); ++i) {
        if (i > 0) launches[i].prepare();
        pass.begins.push_back(kernel_names.so_far());
        launches[i].launch();
        pass.ends.push_back(kernel_names.so_far());
      }
      pass.names = kernel_names.heard();
      is_last = session_->profiler.stop();
    }
    return pass;
  } catch (...) {
    release();  // a pass that has begun does not end otherwise
    throw;
  }

  static std::vector<double> values_of(const Chip& chip, const std::vector<std::uint8_t>& image,
                                       const std::vector<const char*>& names, std::size_t kernel) {
    std::vector<double> values(names.size());
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
    params.pHostObject = chip.object();
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = kernel;
    params.ppMetricNames = const_cast<const char**>(names.data());
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    GPUEXP_CUPTI(cuptiProfilerHostEvaluateToGpuValues, &params);
    return values;
  }

  CUcontext context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::map<std::vector<std::string>, Configured> configs_;
  std::optional<ProfilerSession> session_;
  std::size_t kernels_ = 16;  ///< that an image has room for
};

std::vector<NsightMetric> nsight_metrics(const std::string& chip) try {
  return Chip(chip, {}).metrics();
} catch (const DeviceError& error) {
  throw CountersUnavailable(fmt::format("CUPTI has no metrics of {}: {}", chip, error.what()));
}

}  // namespace gpuexp
#else
namespace gpuexp {

class HardwareCounters::Impl {
 public:
  Impl() { throw CountersUnavailable("this build had no header of CUPTI's range profiler"); }
  std::vector<std::string> unknown(const std::vector<std::string>&) const { return {}; }
  std::vector<LaunchCounts> count(const std::vector<std::string>&,
                                  const std::vector<Launch>&) const {
    return {};
  }
  void release() const {}
};

std::vector<NsightMetric> nsight_metrics(const std::string&) {
  throw CountersUnavailable("this build had no header of CUPTI's range profiler");
}

}  // namespace gpuexp
#endif

namespace gpuexp {

HardwareCounters::HardwareCounters() try : impl_(std::make_unique<Impl>()) {
} catch (const DeviceError& error) {
  throw CountersUnavailable(error.what());
}
HardwareCounters::~HardwareCounters() = default;
HardwareCounters::HardwareCounters(HardwareCounters&&) noexcept = default;
HardwareCounters& HardwareCounters::operator=(HardwareCounters&&) noexcept = default;

std::vector<std::string> HardwareCounters::unknown(const std::vector<std::string>& metrics) {
  return impl_->unknown(metrics);
}

void HardwareCounters::release() {
  impl_->release();
}

std::vector<LaunchCounts> HardwareCounters::count(const std::vector<std::string>& metrics,
                                                  const std::vector<Launch>& launches) {
  return impl_->count(metrics, launches);
}

}  // namespace gpuexp
