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

/// The active range profiler of a context; the destructor deactivates it.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  std::vector<std::uint8_t> make_image(const std::vector<const char*>& metrics,
                                       std::size_t ranges) const;

  /// Each pass must repeat the same ranges.
  void configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& image,
                 std::size_t ranges);

  void start();
  /// Opens a range. Names are unique within a pass and equal in all passes.
  void push(const std::string& name);
  void pop();

  bool stop();

  void decode();

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Creates a range for every kernel and fill, including those of libraries, that the host enqueues
/// between open() and close(). Other work in a pass is neither counted nor slowed down.
class LaunchRanges {
 public:
  explicit LaunchRanges(RangeProfiler& profiler);
  ~LaunchRanges();
  LaunchRanges(const LaunchRanges&) = delete;
  LaunchRanges& operator=(const LaunchRanges&) = delete;

  /// Starts a pass. Ranges beyond `max_ranges` are not counted, but names() lists them.
  void start_pass(std::size_t max_ranges) {
    names_.clear();
    max_ranges_ = max_ranges;
  }
  void open() { is_open_ = true; }
  /// Opens one range for all work until close_whole(), for kernels that overlap.
  void open_whole(const std::string& name);
  void close_whole();
  /// Throws the error that prevented a range from being counted, if any.
  void close();
  /// Kernel names of this pass, by range; for a fill, the name of the call.
  const std::vector<std::string>& names() const { return names_; }

 private:
  static void CUPTIAPI called(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);
  void enqueued(const CUpti_CallbackData& call);

  RangeProfiler& profiler_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::size_t max_ranges_ = 0;
  bool is_open_ = false;
  const void* inside_ = nullptr;  ///< call whose range is open
  std::vector<std::string> names_;
  std::exception_ptr error_;
};

std::size_t ranges_in(const std::vector<std::uint8_t>& image);

}  // namespace gpuexp
#endif
