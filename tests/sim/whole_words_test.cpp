// 8-byte words that blocks on two host threads write and read concurrently.
#include "sim/whole_words.hpp"

#include <vector>

#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("an 8-byte word that another block writes is read old or new, never half of each") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::vector<std::uint64_t> words(kWholeWords, 0);
  std::vector<unsigned> torn(kWholeWords, 1);
  sim::Simulator simulator(kernels(), 90);
  simulator.threads = 2;
  simulator.memory().add(words.data(), words.size() * sizeof words[0], "words");
  simulator.memory().add(torn.data(), torn.size() * sizeof torn[0], "torn");
  constexpr int kIterations = 200'000;
  simulator.run(whole_words(kIterations, words.data(), torn.data()));
  CHECK(torn == std::vector<unsigned>(kWholeWords, 0));
  CHECK(words.front() == (std::uint64_t{kIterations - 1} << 32 | (kIterations - 1)));
}

}  // namespace
}  // namespace gpuexp::test
