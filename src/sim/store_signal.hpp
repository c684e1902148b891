// How threads of the host that execute ranks in one memory wait for each other's stores.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuexp::sim {

/// Counts the rounds in which some thread stored what others may wait for, and wakes those that
/// sleep until that number changes.
class StoreSignal {
 public:
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
  void raise();
  /// Sleeps until count() differs from `seen`, for at most a millisecond. False if it did not.
  bool wait(std::uint32_t seen);

 private:
  std::atomic<std::uint32_t> count_ = 0;
  std::atomic<int> sleepers_ = 0;
};

}  // namespace gpuexp::sim
