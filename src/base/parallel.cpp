#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuexp {

unsigned host_threads() {
  return std::max(1u, std::thread::hardware_concurrency());
}

void on_threads(unsigned threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t)
    others.emplace_back(guarded);
  guarded();
  for (std::thread& other : others)
    other.join();
  if (failure) std::rethrow_exception(failure);
}

void for_parts(unsigned threads, std::int64_t count, std::int64_t max_items,
               const std::function<void(std::int64_t first, std::int64_t end)>& part) {
  const std::int64_t parts = (count + max_items - 1) / max_items;
  std::atomic<std::int64_t> next{0};
  on_threads(static_cast<unsigned>(std::min<std::int64_t>(threads, parts)), [&] {
    for (std::int64_t i = next++; i < parts; i = next++)
      part(i * max_items, std::min(count, (i + 1) * max_items));
  });
}

}  // namespace gpuexp
