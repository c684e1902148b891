// Measurement of one variant: verification of its results, and its samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "family/step_time.hpp"
#include "family/tolerance.hpp"

namespace gpuexp {

/// One element that failed verification.
struct Mismatch {
  std::string buffer;
  std::int64_t index;
  double expected;  ///< NaN if the element has no reference: then `got` is a NaN
  double got;
  double allowed;  ///< largest |got - expected| that passes
};

inline constexpr std::size_t kMaxMismatches = 1000;

/// Root-mean-square error of one output.
struct RmsError {
  std::string buffer;
  double got = 0;
  double allowed = 0;

  double over_allowed() const { return rms_over_allowed(got, allowed); }
};

struct Verification {
  std::int64_t elements = 0;  ///< elements of all outputs
  std::int64_t checked = 0;   ///< elements compared with a reference
  std::int64_t wrong = 0;
  /// Wrong elements of the lowest indices, at most kMaxMismatches of each output. If launches
  /// wrote several copies, they are from the first copy with a wrong element.
  std::vector<Mismatch> first_wrong;
  std::string overrun;            ///< a buffer whose guards were overwritten; empty: none
  std::string changed_input;      ///< an input that was written; empty: none
  double worst_over_allowed = 0;  ///< largest |got - expected| / allowed; at most 1 if all pass
  /// RMS error of the output with the largest over_allowed().
  RmsError rms;
  /// Root-mean-square error divided by the root-mean-square result; the reference is the exact
  /// result of unrounded inputs.
  double error_rms_rel = 0;
  /// Largest absolute error divided by the root-mean-square result, with the same reference.
  double error_max_rel = 0;

  /// Whether the RMS error is within its bound; false for a NaN.
  bool rms_passed() const { return rms.over_allowed() <= 1.0; }
  bool passed() const {
    return wrong == 0 && rms_passed() && overrun.empty() && changed_input.empty();
  }
  /// Stores `error` in `rms` if it is the worst so far; a NaN is the worst.
  void add_rms(RmsError error);
};

/// Describes a failed verification: "3 of 1000 elements are wrong; first y[32]: expected …".
std::string failure_of(const Verification& verification);

/// Properties of the samples of one variant on one problem in one mode.
struct SampleTraits {
  int launches = 1;                ///< launches timed together; a sample is their mean
  std::int64_t flushed_bytes = 0;  ///< bytes read before each sample to flush the caches
  std::int64_t rotated_bytes = 0;  ///< size of all copies of the buffers over which launches rotate
  bool gated = false;              ///< the GPU waited until events and launches were queued
  /// GPU time per sample outside the timed launches: a flush, a priming launch.
  double preparation_us = 0;
  /// Steps of one launch in order; only for launches that use several streams.
  std::vector<StepTime> timeline = {};

  /// GPU time, in µs, for a sample of this time.
  double gpu_us(double time_us) const { return time_us * launches + preparation_us; }
};

/// SM clock over an interval of time.
struct ClockReading {
  double mhz = 0;   ///< mean
  double load = 0;  ///< share of the interval in which the GPU was busy
};

/// One timed launch, or the mean of the launches in one replay.
struct Sample {
  double time_us = 0;
  /// Mean SM clock during the sample if it is long enough, else during its rounds.
  std::optional<double> sm_clock_mhz = std::nullopt;
  /// Earliest start of this rank's launch, in ns on rank 0's clock.
  std::optional<std::int64_t> start_ns = std::nullopt;
  /// Time between the first and the last rank being able to begin, in µs, if the problem spans
  /// GPUs.
  std::optional<double> skew_us = std::nullopt;
};

}  // namespace gpuexp
