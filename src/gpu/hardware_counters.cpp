#include "gpu/hardware_counters.hpp"

#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/counters_unavailable.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/cupti_chip.hpp"
#include "gpu/range_profiler.hpp"

#if GPUEXP_HAS_CUPTI
#include <array>
#include <map>
#include <optional>

#include <cupti_profiler_target.h>
#include <cupti_target.h>

namespace gpuexp {

namespace {

/// Why CUPTI cannot profile this device; empty if it can.
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

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace

class HardwareCounters::Impl {
 public:
  Impl() {
    const ProfiledDevice device = current_device_to_profile();
    if (const std::string cause = unsupported(device.index); !cause.empty())
      throw CountersUnavailable("CUPTI does not profile this device: " + cause);
    context_ = device.context;
    chip_ = device.chip;
    GPUEXP_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available);
    available.ctx = context_;
    GPUEXP_CUPTI(cuptiProfilerGetCounterAvailability, &available);
    availability_.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability_.data();
    GPUEXP_CUPTI(cuptiProfilerGetCounterAvailability, &available);
    // A trial session reports missing permissions before minutes of timing.
    RangeProfiler once(context_);
    const LaunchRanges subscribed(once);
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
    const Configured& configured = configured_for(metrics);
    const std::vector<const char*> names = pointers_to(metrics);
    if (session_ && session_->metrics != metrics) session_.reset();
    for (;; max_ranges_ *= 4) {
      if (!session_) session_.emplace(context_, metrics, names, max_ranges_);
      RangeProfiler& profiler = session_->profiler;
      std::vector<std::uint8_t> image = session_->blank_image;
      profiler.configure(configured.image, image, max_ranges_);
      int passes = 0;
      const std::vector<Ranges> ranges = replay(launches, passes);
      const std::vector<std::string>& kernels = session_->ranges.names();
      // The profiler keeps the size of its first image: a larger image requires a new session.
      if (kernels.size() > max_ranges_) {
        session_.reset();
        continue;
      }
      profiler.decode();
      if (const std::size_t counted = ranges_in(image); counted != kernels.size())
        throw DeviceError(fmt::format("the profiler counted {} of {} kernels of its launches",
                                      counted, kernels.size()),
                          DeviceFault::refused);
      std::vector<LaunchCounts> counts;
      for (const Ranges& of_launch : ranges) {
        LaunchCounts& found = counts.emplace_back(LaunchCounts{metrics, {}, passes});
        for (std::size_t k = of_launch.begin; k < of_launch.end; ++k)
          found.kernels.push_back({kernels[k], configured.chip->values_of(image, names, k)});
      }
      return counts;
    }
  }

  void release() { session_.reset(); }

 private:
  /// The active profiler, its subscription to launches, and a blank image. A session is reused for
  /// all launches with the same metrics; a profiler configured for a few metrics returns NaN for a
  /// larger set.
  struct ProfilerSession {
    ProfilerSession(CUcontext context, const std::vector<std::string>& of,
                    const std::vector<const char*>& names, std::size_t max_ranges)
        : metrics(of),
          profiler(context),
          ranges(profiler),
          blank_image(profiler.make_image(names, max_ranges)) {}

    std::vector<std::string> metrics;
    RangeProfiler profiler;
    LaunchRanges ranges;
    std::vector<std::uint8_t> blank_image;  ///< copied for each count()
  };

  struct Configured {
    std::unique_ptr<CuptiChip> chip;
    std::vector<std::uint8_t> image;
  };

  /// Indices of one launch's ranges, in order of enqueueing.
  struct Ranges {
    std::size_t begin;
    std::size_t end;
  };

  Configured& configured_for(const std::vector<std::string>& metrics) {
    const auto [found, is_new] = configs_.try_emplace(metrics);
    if (is_new) {
      found->second.chip = std::make_unique<CuptiChip>(chip_, availability_);
      found->second.image = found->second.chip->config_of(pointers_to(metrics));
    }
    return found->second;
  }

  std::vector<Ranges> replay(const std::vector<Launch>& launches, int& passes) try {
    std::vector<Ranges> found;
    LaunchRanges& ranges = session_->ranges;
    for (bool is_last = false; !is_last; ++passes) {
      found.clear();
      ranges.start_pass(max_ranges_);
      session_->profiler.start();
      for (const Launch& launch : launches) {
        // Within the pass, because the driver evicts L2 when a pass starts.
        launch.prepare();
        const std::size_t begin = ranges.names().size();
        if (launch.as_one) {
          ranges.open_whole("launch");
          launch.launch();
          ranges.close_whole();
        } else {
          ranges.open();
          launch.launch();
          ranges.close();
        }
        found.push_back({begin, ranges.names().size()});
      }
      is_last = session_->profiler.stop();
    }
    return found;
  } catch (...) {
    release();  // ends a started pass
    throw;
  }

  CUcontext context_ = nullptr;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::map<std::vector<std::string>, Configured> configs_;
  std::optional<ProfilerSession> session_;
  std::size_t max_ranges_ = 64;  ///< capacity of an image
};

}  // namespace gpuexp
#else
namespace gpuexp {

class HardwareCounters::Impl {
 public:
  Impl() { throw CountersUnavailable("built without the header of CUPTI's range profiler"); }
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
