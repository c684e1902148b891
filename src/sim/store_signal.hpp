#pragma once

#include <atomic>
#include <cstdint>

namespace gpuexp::sim {

/// Counts rounds in which a thread stored a value that other threads may wait for. Wakes threads
/// that wait for the count to change.
class StoreSignal {
 public:
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
  void raise();
  /// Sleeps until count() differs from `seen`, for at most 1 ms. Returns whether it differs.
  bool wait(std::uint32_t seen);

 private:
  std::atomic<std::uint32_t> count_ = 0;
  std::atomic<int> sleepers_ = 0;
};

}  // namespace gpuexp::sim
