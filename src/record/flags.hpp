// What a reader should know before trusting a passed row's number, each declared once.
#pragma once

#include <array>
#include <string_view>

namespace gpuexp {

struct Flag {
  std::string_view id;
  std::string_view meaning;  ///< what was seen, and the likely cause
  std::string_view remedy;   ///< what to do about it: an option where one helps
};

inline constexpr Flag kOutputInL2{
    "output_in_l2", "what was written fits in L2 and may still be dirty there when the clock stops",
    "larger sizes by --set leave less of it"};
inline constexpr Flag kFewSamples{"few_samples", "the wall cap came before min_samples",
                                  "--set measure.max_seconds=10"};
inline constexpr Flag kWideInterval{
    "wide_interval", "the interval is wider than target_relative_ci: a cap came first",
    "--set measure.max_samples=10000 --set measure.max_seconds=10"};
inline constexpr Flag kOutliers{
    "outliers",
    "over 5 % of the samples are far from the median: something else ran, or the clock moved",
    "leave the GPU to this run, and look at samples_us"};
inline constexpr Flag kAboveLimit{
    "above_limit", "faster than the datasheet allows: a cache or a wrong byte count; no record",
    "--set modes=cold, or larger sizes"};
inline constexpr Flag kOtherArchitecture{"other_architecture",
                                         "registers are those of another architecture",
                                         "build with -DCMAKE_CUDA_ARCHITECTURES=native"};
inline constexpr Flag kNearFloor{
    "near_floor", "within three times what an empty kernel takes: much of it is the launch",
    "--set modes=graph, or larger sizes"};
inline constexpr Flag kUngated{
    "ungated",
    "the stream was not blocked until the launch was enqueued: times may hold the host's latency",
    "run without --no-gate, --no-isolate and profilers"};
inline constexpr Flag kClockLow{"clock_low", "the SM clock was below 95 % of its maximum",
                                "compare the column cycles; see clock_reasons and power_w"};
inline constexpr Flag kClockDrift{
    "clock_drift",
    "the SM clock moved by over 2 % from the first half of its samples to the second, and its "
    "times with it",
    "--set measure.sustain_seconds=1 lets it settle"};
inline constexpr Flag kBurst{
    "burst",
    "a longer run differs by more than the interval: the power cap comes after these samples",
    "see sustained_time_us; --set measure.sustain_seconds=1 measures what the cap leaves"};
inline constexpr Flag kThrottled{"throttled", "the driver named a reason for lower clocks",
                                 "see clock_reasons; power and heat are the usual ones"};
inline constexpr Flag kUncounted{"uncounted", "hardware counters were asked for and not read",
                                 "see the warning of the run; fewer counters need fewer replays"};

inline constexpr std::array<Flag, 13> kFlags{
    kOutputInL2, kFewSamples, kWideInterval, kOutliers, kAboveLimit, kNearFloor,        kUngated,
    kClockLow,   kClockDrift, kThrottled,    kBurst,    kUncounted,  kOtherArchitecture};

}  // namespace gpuexp
