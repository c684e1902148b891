// The contents of a buffer that are made where they are first touched: of a large input of which a
// few blocks read little, little is made.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "family/step.hpp"

namespace gpuexp::sim {

/// Parts of so many items each. Several threads may ask for them.
class LateFill {
 public:
  /// 2 KiB of fp32: what a scattered access makes in vain takes a few microseconds.
  static constexpr std::int64_t kPartItems = 512;

  /// The loop has a place to write to.
  explicit LateFill(HostLoop loop);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  /// Makes what is not there yet of a range, which may reach beyond what the loop writes.
  void make(std::uint64_t address, std::size_t bytes);
  /// On several threads.
  void make_all(unsigned threads);

 private:
  static constexpr std::size_t kLocks = 64;

  void make_part(std::size_t part);

  HostLoop loop_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::vector<std::atomic<bool>> is_made_;
  std::unique_ptr<std::mutex[]> locks_;  ///< of parts, in turn
};

}  // namespace gpuexp::sim
