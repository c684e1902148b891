// Memory in which several threads execute kernels, fill and copy, such as simulated ranks.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "sim/global_memory.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

struct SharedTwo {
  static constexpr std::size_t kBytes = std::size_t{1} << 17;

  explicit SharedTwo(sim::Contents of_to = sim::Contents::poison) {
    memory.add(from.data(), kBytes, "from", sim::Contents::poison);
    memory.add(to.data(), kBytes, "to", of_to);
    memory.set_shared(true);
  }
  std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(to.data() + offset);
  }
  bool is_written(std::size_t offset, std::size_t bytes) {
    for (std::size_t i = offset; i < offset + bytes; ++i) {
      if (!memory.find(at(i), 1)->is_written(at(i), 1)) return false;
    }
    return true;
  }

  std::vector<unsigned char> from = std::vector<unsigned char>(kBytes, 1);
  std::vector<unsigned char> to = std::vector<unsigned char>(kBytes, 2);
  sim::GlobalMemory memory;
};

TEST_CASE("a full fill by one thread keeps its per-byte marks until all threads end", "[sim]") {
  SharedTwo x;
  x.memory.set(x.to.data(), 3, SharedTwo::kBytes);
  CHECK(x.to[SharedTwo::kBytes - 1] == 3);  // at once
  CHECK(x.is_written(0, SharedTwo::kBytes));
  CHECK_FALSE(x.memory.find(x.to.data())->is_written());
  x.memory.set_shared(false);
  x.memory.settle();
  CHECK(x.memory.find(x.to.data())->is_written());
}

TEST_CASE("a copy during other threads' work copies written and unwritten states", "[sim]") {
  SharedTwo x;
  x.memory.set(x.to.data(), 3, SharedTwo::kBytes);
  x.memory.set(x.from.data() + 100, 4, 50);
  x.memory.set(x.from.data() + 200, 4, 50);
  x.memory.copy(x.to.data() + 1000, x.from.data() + 90, 400);
  CHECK(x.is_written(900, 100));
  CHECK_FALSE(x.is_written(1009, 1));
  CHECK(x.is_written(1010, 50));
  CHECK_FALSE(x.is_written(1060, 1));
  CHECK_FALSE(x.is_written(1109, 1));
  CHECK(x.is_written(1110, 50));
  CHECK_FALSE(x.is_written(1160, 1));
  CHECK_FALSE(x.is_written(1399, 1));
  CHECK(x.is_written(1400, 100));
}

TEST_CASE("an empty copy marks nothing, and a written buffer gets no marks", "[sim]") {
  SharedTwo unwritten;
  unwritten.memory.copy(unwritten.to.data() + 64, unwritten.from.data(), 0);
  CHECK_FALSE(unwritten.is_written(64, 1));
  SharedTwo written(sim::Contents::written);
  written.memory.copy(written.to.data(), written.from.data(), 0);
  written.memory.copy(written.to.data() + 64, written.from.data(), 16);
  CHECK(written.memory.find(written.to.data())->is_written());
}

// A sanitizer detects marks that are freed during a read.
TEST_CASE("marks stay valid for a reading thread while another thread copies", "[sim]") {
  SharedTwo x;
  x.memory.set(x.from.data(), 4, SharedTwo::kBytes);
  x.memory.set(x.to.data(), 3, SharedTwo::kBytes);
  std::atomic<bool> ended{false};
  std::jthread copies([&] {
    for (int i = 0; i < 200; ++i) {
      x.memory.copy(x.to.data(), x.from.data(), SharedTwo::kBytes);
      x.memory.copy(x.to.data(), x.from.data(), 0);
      x.memory.set(x.to.data(), 3, SharedTwo::kBytes);
    }
    ended = true;
  });
  bool all = true;
  do {
    for (std::size_t offset = 0; offset < SharedTwo::kBytes; offset += 4096)
      all &= x.is_written(offset, 16);
  } while (!ended);
  CHECK(all);
}

}  // namespace
}  // namespace gpuexp::test
