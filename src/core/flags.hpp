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

inline constexpr std::array<Flag, 4> kFlags{kOutputInL2, kFewSamples, kAboveLimit,
                                            kOtherArchitecture};

}  // namespace gpuexp
