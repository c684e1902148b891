// What a reader should know before trusting a passed row's number, each declared once.
#pragma once

#include <array>
#include <string_view>

namespace gpuexp {

struct Flag {
  std::string_view id;
  std::string_view meaning;
};

inline constexpr Flag kOutputInL2{
    "output_in_l2",
    "what was written fits in L2 and may still be dirty there when the clock stops"};
inline constexpr Flag kFewSamples{"few_samples", "the wall cap came before min_samples"};
inline constexpr Flag kAboveLimit{
    "above_limit", "faster than the datasheet allows: a cache or a wrong byte count"};
inline constexpr Flag kOtherArchitecture{"other_architecture",
                                         "registers are those of another architecture"};
inline constexpr Flag kNearFloor{
    "near_floor", "within three times what an empty kernel takes: much of it is the launch"};
inline constexpr Flag kUngated{
    "ungated", "the GPU did not wait until all was queued: times may hold the host's latency"};
inline constexpr Flag kClockLow{"clock_low", "the SM clock was below 95 % of its maximum"};
inline constexpr Flag kClockDrift{"clock_drift",
                                  "the SM clock moved by over 2 % while samples were taken"};
inline constexpr Flag kThrottled{"throttled", "the driver named a reason for lower clocks"};
inline constexpr Flag kDiscarded{"discarded",
                                 "samples at a clock a tenth below the others' were left out"};

inline constexpr std::array<Flag, 10> kFlags{
    kOutputInL2, kFewSamples, kAboveLimit, kNearFloor, kUngated,
    kClockLow,   kClockDrift, kThrottled,  kDiscarded, kOtherArchitecture};

}  // namespace gpuexp
