// Buffers filled at the first access.
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "sim/global_memory.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A buffer of integers that a host loop numbers; `made` counts the computed elements.
struct Numbered {
  static constexpr std::int64_t kCount = 10'000;

  Numbered() {
    memory.add(values.data(), values.size() * sizeof(int), "x", sim::Contents::poison);
    memory.defer_fill({kCount,
                       [this](std::int64_t first, std::int64_t end) {
                         made += end - first;
                         std::iota(values.data() + first, values.data() + end,
                                   static_cast<int>(first));
                       },
                       values.data(), sizeof(int)});
  }
  std::uint64_t address(std::size_t i) const {
    return reinterpret_cast<std::uint64_t>(values.data() + i);
  }

  std::vector<int> values = std::vector<int>(kCount + 8, -1);  // some past the loop's end
  std::atomic<std::int64_t> made{0};
  sim::GlobalMemory memory;
};

TEST_CASE("a read computes its part of a buffer beforehand, and little else", "[late_fill]") {
  Numbered x;
  CHECK(x.made == 0);
  CHECK(x.memory.find(x.address(0), 4)->is_written(x.address(5000), 4));  // for checks of reads
  CHECK_FALSE(x.memory.find(x.address(0), 4)->is_written(x.address(Numbered::kCount), 4));
  x.memory.at(x.address(5000), 8);
  CHECK(x.values[5000] == 5000);
  CHECK(x.values[5001] == 5001);
  CHECK(x.made < 1000);
  const std::int64_t before = x.made;
  x.memory.at(x.address(5000), 4);
  CHECK(x.made == before);
}

TEST_CASE("an access across two parts computes both, and the last part ends with the loop",
          "[late_fill]") {
  Numbered x;
  x.memory.at(x.address(510), 16);
  CHECK(x.values[510] == 510);
  CHECK(x.values[513] == 513);
  x.memory.make(&x.values[Numbered::kCount - 1], 9 * sizeof(int));
  CHECK(x.values[Numbered::kCount - 1] == Numbered::kCount - 1);
  CHECK(x.values[Numbered::kCount] == -1);
}

TEST_CASE("stored values remain when the rest is computed", "[late_fill]") {
  Numbered x;
  x.memory.at(x.address(700), 4);
  x.values[700] = -7;
  x.memory.make_all(2);
  CHECK(x.made == Numbered::kCount);
  CHECK(x.values[700] == -7);
  CHECK(x.values[701] == 701);
}

TEST_CASE("a part has as many items as its loop computes at once", "[late_fill]") {
  constexpr std::int64_t kItems = 96;
  std::vector<int> values(1000);
  std::vector<std::pair<std::int64_t, std::int64_t>> made;
  sim::GlobalMemory memory;
  memory.add(values.data(), values.size() * sizeof(int), "x", sim::Contents::poison);
  memory.defer_fill({std::ssize(values),
                     [&](std::int64_t first, std::int64_t end) { made.emplace_back(first, end); },
                     values.data(), sizeof(int)},
                    {}, kItems);
  memory.at(reinterpret_cast<std::uint64_t>(&values[2 * kItems - 1]), 8);
  memory.make(&values.back(), sizeof(int));
  using Made = std::vector<std::pair<std::int64_t, std::int64_t>>;
  CHECK(made == Made{{kItems, 2 * kItems}, {2 * kItems, 3 * kItems}, {960, 1000}});
}

TEST_CASE("threads that access the same part compute it once", "[late_fill]") {
  Numbered x;
  std::atomic<bool> all_there{true};
  on_threads(4, [&] {
    for (std::size_t i = 0; i < Numbered::kCount; ++i) {
      x.memory.at(x.address(i), 4);
      if (x.values[i] != static_cast<int>(i)) all_there = false;
    }
  });
  CHECK(all_there);
  CHECK(x.made == Numbered::kCount);
}

TEST_CASE("a loop that writes outside all buffers must run at once", "[late_fill]") {
  std::array<int, 4> elsewhere{};
  sim::GlobalMemory memory;
  const auto never = [](std::int64_t, std::int64_t) { FAIL("it ran"); };
  CHECK_FALSE(memory.defer_fill({4, never, elsewhere.data(), sizeof(int)}));
}

/// Two byte buffers; `made` counts the computed bytes of the first.
struct Two {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  explicit Two(bool is_constant) {
    memory.add(from.data(), kBytes, "from");
    memory.add(to.data(), kBytes, "to", sim::Contents::poison);
    if (is_constant) memory.set_constant(from.data());
    memory.defer_fill({static_cast<std::int64_t>(kBytes),
                       [this](std::int64_t first, std::int64_t end) {
                         made += end - first;
                         std::fill(from.begin() + first, from.begin() + end, std::byte{7});
                       },
                       from.data(), 1});
  }
  std::byte at(std::size_t i) {
    return *memory.at(reinterpret_cast<std::uint64_t>(to.data() + i), 1);
  }

  std::vector<std::byte> from = std::vector<std::byte>(kBytes);
  std::vector<std::byte> to = std::vector<std::byte>(kBytes);
  std::atomic<std::int64_t> made{0};
  sim::GlobalMemory memory;
};

TEST_CASE("bytes are set at the first access", "[late_fill]") {
  Two x(true);
  x.memory.set(x.to.data(), 3, Two::kBytes);
  CHECK(x.memory.find(x.to.data())->is_written());
  CHECK(x.to[70'000] == std::byte{0});
  CHECK(x.at(70'000) == std::byte{3});
  x.memory.set(x.to.data() + 70'000, 4, 1);  // small fills at once, within and across parts
  x.memory.set(x.to.data() + 100, 5, 4000);
  x.memory.make_all(1);
  CHECK(x.to[99] == std::byte{3});
  CHECK(x.to[100] == std::byte{5});
  CHECK(x.to[4099] == std::byte{5});
  CHECK(x.to[4100] == std::byte{3});
  CHECK(x.to[70'000] == std::byte{4});
  CHECK(x.to[Two::kBytes - 1] == std::byte{3});
}

TEST_CASE("a later fill replaces an earlier one", "[late_fill]") {
  Two x(true);
  x.memory.set(x.to.data(), 3, Two::kBytes);
  x.memory.set(x.to.data() + 100'001, 4, 500'000);
  x.memory.make_all(2);
  CHECK(x.to[100'000] == std::byte{3});
  CHECK(x.to[100'001] == std::byte{4});
  CHECK(x.to[600'000] == std::byte{4});
  CHECK(x.to[600'001] == std::byte{3});
  x.memory.set(x.to.data(), 3, Two::kBytes);
  x.memory.set(x.to.data(), 6, Two::kBytes);
  CHECK(x.at(0) == std::byte{6});
}

TEST_CASE("a copy from a constant buffer is delayed until access", "[late_fill]") {
  Two x(true);
  x.memory.copy(x.to.data(), x.from.data(), Two::kBytes);
  CHECK(x.made == 0);
  CHECK(x.at(5000) == std::byte{7});
  CHECK(x.made > 0);
  CHECK(x.made < 10'000);
  // The host overwrites the source; the copy has its earlier contents.
  x.memory.set(x.from.data(), 8, Two::kBytes);
  CHECK(x.at(500'000) == std::byte{7});
}

TEST_CASE("a copy from a buffer that kernels may store to is made at once", "[late_fill]") {
  Two x(false);
  x.memory.copy(x.to.data(), x.from.data(), Two::kBytes);
  CHECK(x.made == Two::kBytes);
  CHECK(x.to[5000] == std::byte{7});
}

TEST_CASE("buffers that a loop reads are found by its kernel's arguments and filled first",
          "[late_fill]") {
  for (const bool is_constant : {true, false}) {
    Two x(is_constant);
    struct {
      std::byte* to;
      std::int64_t count = Two::kBytes;
      const std::byte* from;
    } arguments;
    arguments.to = x.to.data();
    arguments.from = x.from.data() + 1;
    const bool is_late = x.memory.defer_fill(
        {static_cast<std::int64_t>(Two::kBytes - 1),
         [&](std::int64_t first, std::int64_t end) {
           std::copy(x.from.begin() + 1 + first, x.from.begin() + 1 + end, x.to.begin() + first);
         },
         x.to.data(), 1},
        std::as_bytes(std::span(&arguments, 1)));
    CHECK(is_late == is_constant);
    if (is_late) CHECK(x.at(5000) == std::byte{7});
  }
}

// The copy of a constant buffer is postponed until the source changes.
TEST_CASE("a postponed copy is made before its source changes, or dropped", "[late_fill]") {
  for (const bool leaves : {false, true}) {
    Two x(true);
    x.memory.set_cancels_overwritten(leaves);
    x.memory.copy(x.to.data(), x.from.data(), Two::kBytes);
    const std::int64_t before = x.made;
    x.memory.set(x.from.data(), 9, Two::kBytes);
    CHECK((x.made > before) == !leaves);
    if (!leaves) CHECK(x.to[5000] == std::byte{7});
    if (leaves) CHECK(x.to[5000] != std::byte{7});
    CHECK(x.memory.at(reinterpret_cast<std::uint64_t>(x.from.data() + 5000), 1)[0] == std::byte{9});
  }
}

}  // namespace
}  // namespace gpuexp::test
