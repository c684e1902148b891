// Problems that a pointer chase refuses because it would measure another memory.
#include <optional>
#include <string>

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kMib = 1 << 20;

DeviceSpec device(int sm_count) {
  DeviceSpec d;
  d.cc_major = 9;
  d.sm_count = sm_count;
  d.l2_bytes = 50 * kMib;
  return d;
}

/// Why the variant is unsupported; empty if it is supported.
std::string refusal(const char* variant, std::int64_t steps, std::int64_t bytes,
                    const DeviceSpec& d) {
  const Family& family = *Registry::global().find("latency");
  const auto problem =
      family.make_problem(values_with(family, {{"steps", steps}, {"bytes", bytes}}));
  return family.find(variant)->unsupported(problem.get(), d).value_or("");
}

TEST_CASE("chases on all SMs in DRAM visit no line twice", "[latency]") {
  // 1,638,400 lines; the share of each of 100 SMs is 16,384.
  constexpr std::int64_t kBytes = 200 * kMib;
  constexpr std::int64_t kShare = kBytes / 128 / 100;
  CHECK(refusal("dram_all_sms", kShare, kBytes, device(100)).empty());
  CHECK(refusal("dram_all_sms", kShare + 1, kBytes, device(100)) ==
        "needs steps <= 16384, an SM's share of the lines");
  CHECK(refusal("dram", kShare + 1, kBytes, device(100)).empty());
  CHECK(refusal("dram_all_sms", kShare, kBytes / 2, device(100)) ==
        "needs bytes >= 209715200, four times this device's L2");
}

TEST_CASE("a number of steps with which a chase would return to its start is refused",
          "[latency]") {
  constexpr std::int64_t kLines = kMib / 128;
  const std::string why =
      "needs steps that are not a multiple of 8192, the number of nodes: a walk that never moved "
      "would end at the same node";
  for (const char* variant : {"l2", "l2_all_sms", "atomic_l2"}) {
    CAPTURE(variant);
    for (const std::int64_t rounds : {1, 4}) {
      CHECK(refusal(variant, rounds * kLines, kMib, device(100)) == why);
      CHECK(refusal(variant, rounds * kLines + 1, kMib, device(100)).empty());
    }
  }
  for (const char* variant : {"shared", "l1"}) {
    CAPTURE(variant);
    CHECK_FALSE(refusal(variant, 256, 8192, device(100)).empty());
    CHECK(refusal(variant, 257, 8192, device(100)).empty());
  }
}

TEST_CASE("chases on all SMs in L2 fit into L2", "[latency]") {
  CHECK(refusal("l2_all_sms", 1 << 20, 25 * kMib, device(100)).empty());
  CHECK(refusal("l2_all_sms", 1 << 20, 26 * kMib, device(100)) ==
        refusal("l2", 1 << 20, 26 * kMib, device(100)));
}

TEST_CASE("more SMs than there are results are refused", "[latency]") {
  const char* const why = "needs at most 1024 SMs, the number of stored results";
  for (const auto& [variant, bytes] :
       {std::pair{"l2_all_sms", kMib}, {"dram_all_sms", 512 * kMib}}) {
    CAPTURE(variant);
    CHECK(refusal(variant, 17, bytes, device(1024)).empty());
    CHECK(refusal(variant, 17, bytes, device(1025)) == why);
  }
}

}  // namespace
}  // namespace gpuexp::test
