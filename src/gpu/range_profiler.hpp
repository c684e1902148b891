// CUPTI's range profiler, each kernel a range, and the names of the kernels.
#pragma once

#include "gpu/cupti.hpp"

#if GPUEXP_HAS_CUPTI
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_range_profiler.h>

namespace gpuexp {

/// Writes down the names of the kernels that are launched between listen() and heard(), also those
/// of libraries.
class KernelNames {
 public:
  KernelNames();
  ~KernelNames();
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

  static void CUPTIAPI called(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);

  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool subscribed_ = false;
  bool listening_ = false;
  std::vector<std::string> names_;
};

/// The range profiler of a context, from construction to destruction.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// An image for the counts of so many kernels.
  std::vector<std::uint8_t> make_image(const std::vector<const char*>& metrics,
                                       std::size_t kernels) const;

  /// Each kernel is a range, and the caller repeats the launch for each pass.
  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& image,
                 std::size_t kernels);

  void start();

  /// True after the last pass.
  bool stop();

  /// Completes the image; returns how many kernels did not fit into it.
  std::size_t decode();

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// That an image has counts of.
std::size_t kernels_in(const std::vector<std::uint8_t>& image);

}  // namespace gpuexp
#endif
