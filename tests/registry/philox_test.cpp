// Random bits, compared with file kat_vectors of Random123 (D. E. Shaw Research).
#include "kernels/common/philox.cuh"

#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

std::vector<std::uint32_t> words(PhiloxWords counter, PhiloxKey key) {
  const PhiloxWords w = philox4x32_10(counter, key);
  return {std::begin(w.word), std::end(w.word)};
}

TEST_CASE("Philox 4x32-10 gives the known answers", "[philox]") {
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(words({{0, 0, 0, 0}}, {{0, 0}}) ==
        std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(words({{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}) ==
        std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}) ==
        std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("an element's word is the word of its group", "[philox]") {
  constexpr std::uint64_t kSeed = 0x299f31d0a4093822;
  for (const std::uint64_t group : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    const PhiloxWords w = philox_words(kSeed, group);
    for (unsigned i = 0; i < 4; ++i)
      CHECK(philox_word(kSeed, 4 * group + i) == w.word[i]);
  }
  CHECK(philox_word(kSeed, 0) != philox_word(kSeed + 1, 0));
}

}  // namespace
}  // namespace gpuexp::test
