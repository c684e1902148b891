// What an executor finds of one variant: whether its results are right, and how its samples were
// taken.
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
  double expected;  ///< NaN where it has no reference, of a NaN that is wrong in any case
  double got;
  double allowed;  ///< largest |got - expected| that passes
};

inline constexpr std::size_t kMaxMismatches = 1000;

/// The root-mean-square error of one output.
struct RmsError {
  std::string buffer;
  double got = 0;
  double allowed = 0;

  double over_allowed() const { return rms_over_allowed(got, allowed); }
};

struct Verification {
  std::int64_t elements = 0;  ///< of all outputs
  std::int64_t checked = 0;   ///< of these, those that were compared
  std::int64_t wrong = 0;
  /// Wrong elements of the lowest indices, at most kMaxMismatches of each output; where launches
  /// wrote to several copies, of the first copy that has any.
  std::vector<Mismatch> first_wrong;
  std::string overrun;            ///< names a buffer whose guards were written; empty when none was
  std::string changed_input;      ///< names an input that was written to; empty when none was
  double worst_over_allowed = 0;  ///< largest |got - expected| / allowed; at most 1 when all pass
  /// Of the output that comes nearest to what it is allowed, or exceeds it most.
  RmsError rms;
  /// Root-mean-square error over the root-mean-square result, against the exact result of unrounded
  /// inputs.
  double error_rms_rel = 0;
  /// Largest absolute error over the root-mean-square result, likewise.
  double error_max_rel = 0;

  /// Whether the RMS error is within its bound; a NaN is not.
  bool rms_passed() const { return rms.over_allowed() <= 1.0; }
  bool passed() const {
    return wrong == 0 && rms_passed() && overrun.empty() && changed_input.empty();
  }
  /// Keeps it where none before was worse; a NaN is the worst.
  void add_rms(RmsError error);
};

/// What is wrong: "3 of 1000 elements are wrong; first y[32]: expected …". Of one that has not
/// passed.
std::string failure_of(const Verification& verification);

/// How the samples of one variant are taken on one problem in one mode.
struct SampleTraits {
  int launches = 1;                ///< timed together; a sample is their mean
  std::int64_t flushed_bytes = 0;  ///< read before each sample to evict what the caches hold
  std::int64_t rotated_bytes = 0;  ///< of all copies of the buffers that launches take in turn
  bool gated = false;              ///< the GPU waited until events and launches were queued
  /// What each sample costs the GPU besides the launches that it times: a flush, a priming launch.
  double preparation_us = 0;
  /// Of one launch, by its steps in order; of launches that take several streams.
  std::vector<StepTime> timeline = {};

  /// What the GPU worked for a sample of this time.
  double gpu_us(double time_us) const { return time_us * launches + preparation_us; }
};

/// The SM clock over a stretch of time.
struct ClockReading {
  double mhz = 0;   ///< mean
  double load = 0;  ///< share of the stretch in which the GPU ran what it was given
};

/// One timed launch, or the mean of those in one replay.
struct Sample {
  double time_us = 0;
  /// Mean SM clock meanwhile, of a sample long enough to tell; a shorter one has that of its
  /// rounds.
  std::optional<double> sm_clock_mhz = std::nullopt;
  /// Of one rank: when its launch could begin, in nanoseconds of rank 0's clock.
  std::optional<std::int64_t> start_ns = std::nullopt;
  /// Of a problem that spans GPUs: how much later the last rank could begin than the first, in µs.
  std::optional<double> skew_us = std::nullopt;
};

}  // namespace gpuexp
