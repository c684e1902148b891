// A kernel whose blocks write and read the same words of 8 bytes meanwhile.
#pragma once

#include <cstdint>

#include "family/step.hpp"

namespace gpuexp::test {

inline constexpr int kWholeWords = 32;

/// One block writes words of two equal halves, `turns` times; another reads them as often, and
/// counts in `torn` those whose halves differ.
Steps whole_words(int turns, std::uint64_t* words, unsigned* torn);

}  // namespace gpuexp::test
