#include "model/prediction_band.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

constexpr const char* kGpusCause = "gpus";
constexpr const char* kLaunchCause = "launch";
constexpr const char* kL1Cause = "l1";
constexpr const char* kL2Cause = "l2";
constexpr const char* kOwnKernelCause = "own_kernel";
constexpr const char* kLatencyCause = "latency";

// Shares of the predicted time.
constexpr double kLongLaunch = 0.2;
constexpr double kBusy = 0.6;

const char* cause_of(double time_us, const std::vector<Term>& terms) {
  double launch_us = 0;
  double busy_us = 0;
  for (const Term& term : terms) {
    if (term.resource == kLaunchCause)
      launch_us = term.time_us;
    else if (term.resource != kLatencyCause)
      busy_us = std::max(busy_us, term.time_us);
  }
  if (launch_us >= kLongLaunch * time_us) return kLaunchCause;
  const std::string& first = terms.front().resource;
  if (first == kL2Cause) return kL2Cause;
  if (first == kL1Cause) return kL1Cause;
  return busy_us < kBusy * time_us ? kLatencyCause : "";
}

double width_of(const std::string& cause) {
  const auto& causes = band_causes();
  const auto found = std::ranges::find(causes, cause, &BandCause::id);
  return found == causes.end() ? kNarrowBandPct : found->pct;
}

}  // namespace

const std::vector<BandCause>& band_causes() {
  static const std::vector<BandCause> kCauses{
      {kGpusCause, 30, "the launch spans GPUs, whose waits for one another are modelled roughly"},
      {kLaunchCause, 25, "launches take at least a fifth of the predicted time"},
      {kL2Cause, 35, "L2 bounds the predicted time, and the distribution over its slices is not modelled"},
      {kL1Cause, 25, "L1 bounds the predicted time, and its misses in flight are modelled roughly"},
      {kLatencyCause, 20, "no resource is busy for 60 % of the predicted time"},
      {kOwnKernelCause, 15, "the model was developed with other kernels"}};
  return kCauses;
}

std::optional<PredictionBand> prediction_band(double time_us, const std::vector<Term>& terms,
                                              bool spans_gpus) {
  if (terms.empty()) return std::nullopt;
  const std::string cause = spans_gpus ? kGpusCause : cause_of(time_us, terms);
  return PredictionBand{width_of(cause), cause};
}

PredictionBand band_of_own_kernel(const PredictionBand& band) {
  const double pct = width_of(kOwnKernelCause);
  return band.pct < pct ? PredictionBand{pct, kOwnKernelCause} : band;
}

}  // namespace gpuexp
