// A kernel whose blocks concurrently write and read the same 8-byte words.
#pragma once

#include <cstdint>

#include "family/step.hpp"

namespace gpuexp::test {

inline constexpr int kWholeWords = 32;

/// One block writes words of two equal halves, `iterations` times. Another block reads them as
/// often and counts in `torn` the words whose halves differ.
Steps whole_words(int iterations, std::uint64_t* words, unsigned* torn);

}  // namespace gpuexp::test
