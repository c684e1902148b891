// Values that several threads compute once.
#include "base/once_map.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/parallel.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a value is computed once, and other threads wait for it", "[once_map]") {
  OnceMap<int, std::string> map;
  std::atomic<int> computed{0};
  std::atomic<int> different{0};
  on_threads(8, [&] {
    for (int key = 0; key < 20; ++key) {
      const std::string& value = map.get(key, [&] {
        ++computed;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return std::to_string(key);
      });
      if (value != std::to_string(key)) ++different;
    }
  });
  CHECK(computed == 20);
  CHECK(different == 0);
}

TEST_CASE("values of different keys are computed concurrently", "[once_map]") {
  OnceMap<int, int> map;
  std::atomic<int> begun{0};
  std::atomic<int> next{0};
  // Each computation waits until the other has begun.
  on_threads(2, [&] {
    map.get(next++, [&] {
      ++begun;
      while (begun < 2)
        std::this_thread::yield();
      return 0;
    });
  });
  CHECK(begun == 2);
}

TEST_CASE("a failed computation is not repeated", "[once_map]") {
  OnceMap<int, int> map;
  int computed = 0;
  const auto fails = [&]() -> int {
    ++computed;
    throw std::runtime_error("no value");
  };
  CHECK_THROWS_WITH(map.get(1, fails), "no value");
  CHECK_THROWS_WITH(map.get(1, fails), "no value");
  CHECK(computed == 1);
  CHECK(map.get(2, [] { return 5; }) == 5);
}

}  // namespace
}  // namespace gpuexp::test
