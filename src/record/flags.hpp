// Warnings about the numbers of passed rows, each declared once.
#pragma once

#include <array>
#include <string_view>

namespace gpuexp {

struct Flag {
  std::string_view id;
  std::string_view meaning;  ///< observation and likely cause
  std::string_view remedy;   ///< what to do, such as an option
};

inline constexpr Flag kOutputInL2{
    "output_in_l2", "the output fits in L2 and may not have reached DRAM when the timer stops",
    "larger sizes (--set), of which L2 holds a smaller share"};
inline constexpr Flag kFewSamples{"few_samples", "max_seconds was reached before min_samples",
                                  "--set measure.max_seconds=10"};
inline constexpr Flag kWideInterval{
    "wide_interval",
    "the interval is wider than target_relative_ci: max_samples or max_seconds was reached first",
    "--set measure.max_samples=10000 --set measure.max_seconds=10"};
inline constexpr Flag kOutliers{
    "outliers",
    "over 5 % of the samples are outliers: another process used the GPU, or the clock changed",
    "run nothing else on the GPU, and look at samples_us"};
inline constexpr Flag kAboveLimit{
    "above_limit",
    "faster than the datasheet limit: a cache served the data, or a byte count is wrong",
    "--set modes=cold, or larger sizes"};
inline constexpr Flag kOtherArchitecture{"other_architecture",
                                         "registers are known only for another architecture",
                                         "build with -DCMAKE_CUDA_ARCHITECTURES=native"};
inline constexpr Flag kNearFloor{
    "near_floor", "within three times the time of an empty kernel: much of it is launch overhead",
    "--set modes=graph, or larger sizes"};
inline constexpr Flag kUngated{
    "ungated",
    "the stream was not blocked until the launch was enqueued: times may include host latency",
    "run without --no-gate, --no-isolate and profilers"};
inline constexpr Flag kClockLow{"clock_low", "the SM clock was below 95 % of its maximum",
                                "compare the column cycles instead of times; see clock_reasons "
                                "and power_w"};
inline constexpr Flag kClockDrift{
    "clock_drift",
    "the SM clock changed by over 2 % from the first to the second half of the samples, and the "
    "times changed with it",
    "--set measure.sustain_seconds=1, so that the clock settles first"};
inline constexpr Flag kBurst{
    "burst",
    "sustained launches differ by more than the interval: the power cap applies only after these "
    "samples",
    "see sustained_time_us; --set measure.sustain_seconds=1 measures under the power cap"};
inline constexpr Flag kThrottled{"throttled", "the driver reported a reason for lower clocks",
                                 "see clock_reasons; usually power or temperature"};
inline constexpr Flag kUncounted{"uncounted", "hardware counters were requested but not read",
                                 "see the warning of the run; fewer counters need fewer replays"};

inline constexpr Flag kHiddenTerms{
    "hidden_terms",
    "a kernel that omits a term of a sum could pass: the bound on rounding errors exceeds single "
    "terms, and the check has no exact verification",
    "smaller sizes (--set), or a smaller tolerance; docs/own_kernel.md, Long sums"};
inline constexpr Flag kZerosPass{"zeros_pass",
                                 "0 would pass for at least three quarters of the compared "
                                 "elements of an output, in each verification",
                                 "other contents of the inputs, or a smaller tolerance"};

inline constexpr std::array<Flag, 15> kFlags{
    kOutputInL2, kFewSamples, kWideInterval,      kOutliers,    kAboveLimit,
    kNearFloor,  kUngated,    kClockLow,          kClockDrift,  kThrottled,
    kBurst,      kUncounted,  kOtherArchitecture, kHiddenTerms, kZerosPass};

}  // namespace gpuexp
