// Philox 4x32-10: random bits that depend only on a key and a counter (Salmon, Moraes, Dror,
// Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011), as deep-learning frameworks use
// for dropout. The generator has no state, so any thread can compute the numbers of its elements,
// and a later kernel can recompute them. C++17, host and device.
#pragma once

#include <cstdint>

#include "base/random_bits.hpp"

namespace gpuexp {

struct PhiloxWords {
  std::uint32_t word[4];
};
struct PhiloxKey {
  std::uint32_t word[2];
};

namespace detail {
struct PhiloxProduct {
  std::uint32_t high;
  std::uint32_t low;
};
GPUEXP_HOST_DEVICE inline PhiloxProduct philox_product(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = static_cast<std::uint64_t>(a) * b;
  return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}
}  // namespace detail

GPUEXP_HOST_DEVICE inline PhiloxWords philox4x32_10(PhiloxWords counter, PhiloxKey key) {
  constexpr int kRounds = 10;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int round = 0; round < kRounds; ++round) {
    const auto a = detail::philox_product(0xD2511F53u, counter.word[0]);
    const auto b = detail::philox_product(0xCD9E8D57u, counter.word[2]);
    counter = {{b.high ^ counter.word[1] ^ key.word[0], b.low,
                a.high ^ counter.word[3] ^ key.word[1], a.low}};
    key.word[0] += 0x9E3779B9u;
    key.word[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Random words of elements 4·group to 4·group + 3 of the seed's sequence.
GPUEXP_HOST_DEVICE inline PhiloxWords philox_words(std::uint64_t seed, std::uint64_t group) {
  return philox4x32_10(
      {{static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32), 0u, 0u}},
      {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
}

/// Random word of element i. The selection without an array index keeps the words in registers.
GPUEXP_HOST_DEVICE inline std::uint32_t philox_word(std::uint64_t seed, std::uint64_t i) {
  const PhiloxWords w = philox_words(seed, i / 4);
  const std::uint32_t low = i % 2 == 0 ? w.word[0] : w.word[1];
  const std::uint32_t high = i % 2 == 0 ? w.word[2] : w.word[3];
  return i % 4 < 2 ? low : high;
}

}  // namespace gpuexp
