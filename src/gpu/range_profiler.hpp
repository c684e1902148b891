// CUPTI's range profiler, and the ranges that it counts: what is launched while they are open.
#pragma once

#include "gpu/cupti.hpp"

#if GPUEXP_HAS_CUPTI
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_range_profiler.h>

namespace gpuexp {

/// The range profiler of a context, from construction to destruction.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// An image for the counts of so many ranges.
  std::vector<std::uint8_t> make_image(const std::vector<const char*>& metrics,
                                       std::size_t ranges) const;

  /// The caller repeats the ranges for each pass.
  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& image,
                 std::size_t ranges);

  void start();
  /// Ranges of one pass have names of their own, and the same in each pass.
  void push(const std::string& name);
  void pop();

  /// True after the last pass.
  bool stop();

  /// Completes the image.
  void decode();

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Makes a range of every kernel and fill, also those of libraries, that the host enqueues between
/// open() and close(). All else that runs during a pass is neither counted nor slowed down.
class LaunchRanges {
 public:
  explicit LaunchRanges(RangeProfiler& profiler);
  ~LaunchRanges();
  LaunchRanges(const LaunchRanges&) = delete;
  LaunchRanges& operator=(const LaunchRanges&) = delete;

  /// Beyond `most` ranges nothing is counted; the names tell how many it would take.
  void start_pass(std::size_t most) {
    names_.clear();
    most_ = most;
  }
  void open() { is_open_ = true; }
  /// Makes one range, of this name, of all that runs until close_whole(), for kernels that overlap.
  void open_whole(const std::string& name);
  void close_whole();
  /// Throws what kept a range from being counted.
  void close();
  /// Of the kernels of this pass, by range; of a fill, the call.
  const std::vector<std::string>& names() const { return names_; }

 private:
  static void CUPTIAPI called(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);
  void enqueued(const CUpti_CallbackData& call);

  RangeProfiler& profiler_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::size_t most_ = 0;
  bool is_open_ = false;
  const void* inside_ = nullptr;  ///< the call whose range is open
  std::vector<std::string> names_;
  std::exception_ptr error_;
};

/// That an image has counts of.
std::size_t ranges_in(const std::vector<std::uint8_t>& image);

}  // namespace gpuexp
#endif
