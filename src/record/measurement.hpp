#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "family/step_time.hpp"
#include "family/tolerance.hpp"

namespace gpuexp {

struct Mismatch {
  std::string buffer;
  std::int64_t index;
  double expected;  ///< NaN if the element was not drawn, or its reference has no value
  double got;
  double allowed;  ///< maximum |got - expected| that passes
  /// All bits of the element are set, as before the launch. The launch did not write it, except
  /// that it may have written such an integer.
  bool is_unwritten = false;

  /// `got` as text: "unwritten" for floating-point elements that were not written.
  std::string got_text() const;
};

inline constexpr std::size_t kMaxMismatches = 1000;

struct RmsError {
  std::string buffer;
  double got = 0;
  double allowed = 0;

  double over_allowed() const { return rms_over_allowed(got, allowed); }
};

/// An output, and the share of its compared elements for which 0 would pass, too.
struct ZeroShare {
  std::string buffer;
  double share = 0;
};

struct Verification {
  std::int64_t elements = 0;  ///< number of elements of all outputs
  std::int64_t checked = 0;   ///< number of elements compared with a reference
  std::int64_t wrong = 0;
  /// The wrong elements with the lowest indices, at most kMaxMismatches of each output, and the
  /// first one of each output whose reference has no value. If launches wrote several copies, from
  /// the first copy with a wrong element.
  std::vector<Mismatch> first_wrong;
  std::string overrun;        ///< name of a buffer whose guards were overwritten; empty if none
  std::string changed_input;  ///< name of an input that was modified; empty if none
  std::vector<ZeroShare> zero_shares;  ///< one for each compared output
  double worst_over_allowed = 0;  ///< maximum |got - expected| / allowed; at most 1 if all pass
  /// RMS error of the output with the largest over_allowed().
  RmsError rms;
  /// RMS error divided by the RMS result; the reference is the exact result of unrounded inputs.
  double error_rms_rel = 0;
  /// Maximum absolute error divided by the RMS result, with the same reference.
  double error_max_rel = 0;

  /// False if the RMS error exceeds its bound or is NaN.
  bool rms_passed() const { return rms.over_allowed() <= 1.0; }
  bool passed() const {
    return wrong == 0 && rms_passed() && overrun.empty() && changed_input.empty();
  }
  /// Whether 0 would pass for at least three quarters of the compared elements of the output.
  bool is_passed_by_zeros(const std::string& output) const;
  /// Stores `error` in `rms` if its over_allowed() is the largest so far. NaN counts as the
  /// largest.
  void add_rms(RmsError error);
};

/// The name of an element of a buffer, such as "y[1][12]". `element` counts from the first one.
using ElementName = std::function<std::string(const std::string& buffer, std::int64_t element)>;

/// "y[32]".
std::string name_in_one_dimension(const std::string& buffer, std::int64_t element);

/// A failed verification as text: "3 of 1000 elements are wrong; first y[32]: expected …".
std::string failure_of(const Verification& verification,
                       const ElementName& name = name_in_one_dimension);

/// Conditions of the samples of one variant on one problem in one mode.
struct SampleTraits {
  int launches = 1;                ///< number of launches timed together; a sample is their mean
  std::int64_t flushed_bytes = 0;  ///< bytes read before each sample to flush the caches
  std::int64_t rotated_bytes = 0;  ///< bytes of all copies of the buffers in rotation
  bool gated = false;  ///< true if the GPU waited until events and launches were enqueued
  /// GPU time per sample, in µs, outside the timed launches: a flush, a priming launch.
  double preparation_us = 0;
  /// Steps of one launch in order; only if the launch uses several streams.
  std::vector<StepTime> timeline = {};

  /// GPU time, in µs, spent on a sample with this time.
  double gpu_us(double time_us) const { return time_us * launches + preparation_us; }
};

struct ClockReading {
  double mhz = 0;   ///< mean SM clock
  double load = 0;  ///< share of the interval in which the GPU was busy
};

/// Time of one launch, or mean time of SampleTraits::launches launches.
struct Sample {
  double time_us = 0;
  /// Mean SM clock during the sample if the sample is long enough, else during its rounds.
  std::optional<double> sm_clock_mhz = std::nullopt;
  /// Earliest time at which this rank's launch could start, in ns on rank 0's clock.
  std::optional<std::int64_t> start_ns = std::nullopt;
  /// If the problem spans GPUs: time in µs between the first and the last rank being able to start.
  std::optional<double> skew_us = std::nullopt;
};

}  // namespace gpuexp
