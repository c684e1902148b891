// Contents of buffers that are made where they are first touched.
#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "base/parallel.hpp"
#include "sim/global_memory.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A buffer of integers that its loop numbers, and counts which it made.
struct Numbered {
  static constexpr std::int64_t kCount = 10'000;

  Numbered() {
    memory.add(values.data(), values.size() * sizeof(int), "x", sim::Contents::poison);
    memory.fill_later({kCount,
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

  std::vector<int> values = std::vector<int>(kCount + 8, -1);  // some beyond the loop's
  std::atomic<std::int64_t> made{0};
  sim::GlobalMemory memory;
};

TEST_CASE("what is read of a buffer is made before, and little else", "[late_fill]") {
  Numbered x;
  CHECK(x.made == 0);
  CHECK(x.memory.find(x.address(0), 4)->is_written(x.address(5000), 4));  // for who checks reads
  CHECK_FALSE(x.memory.find(x.address(0), 4)->is_written(x.address(Numbered::kCount), 4));
  x.memory.at(x.address(5000), 8);
  CHECK(x.values[5000] == 5000);
  CHECK(x.values[5001] == 5001);
  CHECK(x.made < 1000);
  const std::int64_t before = x.made;
  x.memory.at(x.address(5000), 4);
  CHECK(x.made == before);
}

TEST_CASE("an access over two parts makes both, and the last part ends with the loop",
          "[late_fill]") {
  Numbered x;
  x.memory.at(x.address(510), 16);
  CHECK(x.values[510] == 510);
  CHECK(x.values[513] == 513);
  x.memory.make(&x.values[Numbered::kCount - 1], 9 * sizeof(int));
  CHECK(x.values[Numbered::kCount - 1] == Numbered::kCount - 1);
  CHECK(x.values[Numbered::kCount] == -1);
}

TEST_CASE("what is stored stays when the rest is made", "[late_fill]") {
  Numbered x;
  x.memory.at(x.address(700), 4);
  x.values[700] = -7;
  x.memory.make_all(2);
  CHECK(x.made == Numbered::kCount);
  CHECK(x.values[700] == -7);
  CHECK(x.values[701] == 701);
}

TEST_CASE("threads that ask for the same part make it once", "[late_fill]") {
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

TEST_CASE("a loop that writes outside of every buffer runs at once", "[late_fill]") {
  std::array<int, 4> elsewhere{};
  sim::GlobalMemory memory;
  memory.fill_later({4,
                     [&](std::int64_t first, std::int64_t end) {
                       std::iota(elsewhere.begin() + first, elsewhere.begin() + end, 1);
                     },
                     elsewhere.data(), sizeof(int)});
  CHECK(elsewhere == std::array<int, 4>{1, 2, 3, 4});
}

}  // namespace
}  // namespace gpuexp::test
