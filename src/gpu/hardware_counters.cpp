#include "gpu/hardware_counters.hpp"

#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/counters_unavailable.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/cupti_chip.hpp"
#include "gpu/driver_function.hpp"
#include "gpu/range_profiler.hpp"

#if GPUEXP_HAS_CUPTI
#include <array>
#include <map>
#include <optional>

#include <cupti_profiler_target.h>
#include <cupti_target.h>

namespace gpuexp {

namespace {

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
    const CuptiChip chip(chip_, availability_);
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
    for (const Launch& launch : launches) {
      const auto alone = count_together(metrics, {launch});
      counts.push_back(alone ? alone->front() : count_by_difference(metrics, launch));
    }
    return counts;
  }

  void release() { session_.reset(); }

 private:
  struct Configured {
    std::unique_ptr<CuptiChip> chip;
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
      found->second.chip = std::make_unique<CuptiChip>(chip_, availability_);
      found->second.image = found->second.chip->config_of(pointers_to(metrics));
    }
    return found->second;
  }

  /// What the profiler counted in all passes, kernel by kernel.
  struct Counted {
    std::vector<std::uint8_t> image;
    Pass pass;  ///< as heard of when they were called
    std::size_t kernels = 0;
    int passes = 0;
  };

  Counted counted(const std::vector<std::string>& metrics, const std::vector<Launch>& launches) {
    const Configured& configured = configured_for(metrics);
    constexpr std::size_t kMostKernels = 4096;
    for (;; kernels_ *= 4) {
      if (!session_) session_.emplace(context_);
      RangeProfiler& profiler = session_->profiler;
      Counted result;
      result.image = session_->blank_image(metrics, pointers_to(metrics), kernels_);
      profiler.configure(configured.image, result.image, kernels_);
      result.pass = replay(launches, result.passes);
      const std::size_t heard = result.pass.names.size();
      // Kernels beyond what the image has room for are left out, and not always reported. A
      // profiler keeps the room that it was first given, so that more takes another one.
      result.kernels = kernels_in(result.image);
      const bool is_cut =
          profiler.decode() > 0 || result.kernels == kernels_ || result.kernels < heard;
      if (!is_cut) return result;
      if (kernels_ >= kMostKernels)
        throw DeviceError(
            fmt::format("the profiler counted {} of {} kernels of a launch", result.kernels, heard),
            DeviceFault::refused);
      session_.reset();
    }
  }

  /// Empty where the launches cannot be told apart, nor from what prepares them: the GPU counts a
  /// kernel for which nobody called, such as one of a fill.
  std::optional<std::vector<LaunchCounts>> count_together(const std::vector<std::string>& metrics,
                                                          const std::vector<Launch>& launches) {
    const Counted all = counted(metrics, launches);
    if (all.pass.names.size() != all.kernels) return std::nullopt;
    std::vector<LaunchCounts> counts;
    for (std::size_t i = 0; i < launches.size(); ++i)
      counts.push_back(counts_of(metrics, all, all.pass.begins[i], all.pass.ends[i]));
    return counts;
  }

  /// Its kernels are those that come after as many as what prepares it has by itself.
  LaunchCounts count_by_difference(const std::vector<std::string>& metrics, const Launch& launch) {
    const Launch prepared{launch.prepare, [] {}, launch.before_pass};
    const std::size_t before = counted(metrics, {prepared}).kernels;
    Counted all = counted(metrics, {launch});
    all.pass.names.assign(all.kernels, "");
    return counts_of(metrics, all, before, all.kernels);
  }

  LaunchCounts counts_of(const std::vector<std::string>& metrics, const Counted& all,
                         std::size_t begin, std::size_t end) {
    LaunchCounts counts{metrics, {}, all.passes};
    const CuptiChip& chip = *configured_for(metrics).chip;
    for (std::size_t k = begin; k < end; ++k)
      counts.kernels.push_back(
          {all.pass.names[k], chip.values_of(all.image, pointers_to(metrics), k)});
    return counts;
  }

  /// All passes.
  Pass replay(const std::vector<Launch>& launches, int& passes) try {
    Pass pass;
    KernelNames& kernel_names = session_->kernel_names;
    for (bool is_last = false; !is_last; ++passes) {
      pass = {};
      for (const Launch& launch : launches)
        launch.before_pass();
      session_->profiler.start();
      kernel_names.listen();
      for (std::size_t i = 0; i < launches.size(); ++i) {
        launches[i].prepare();
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

  CUcontext context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::map<std::vector<std::string>, Configured> configs_;
  std::optional<ProfilerSession> session_;
  std::size_t kernels_ = 16;  ///< that an image has room for
};

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
