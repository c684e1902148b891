// Generates the contents of a buffer when they are first accessed, because simulated blocks may
// read only a small part of a large input.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "family/step.hpp"

namespace gpuexp::sim {

/// Addresses [begin, end).
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool meets(const AddressRange& other) const { return begin < other.end && other.begin < end; }
  bool has(const AddressRange& other) const { return begin <= other.begin && other.end <= end; }
};

/// Divides the buffer into parts of `part_items` items. Several threads may call make().
class LateFill {
 public:
  /// 512 bytes of fp32: a scattered access generates few unused items, and a contiguous access
  /// seldom reaches a new part.
  static constexpr std::int64_t kPartItems = 128;

  /// The loop must have a buffer to write to. `reads` are the ranges that the loop reads; their
  /// contents must not change.
  explicit LateFill(HostLoop loop, std::vector<AddressRange> reads = {},
                    std::int64_t part_items = kPartItems);

  const AddressRange& range() const { return range_; }
  bool reads_from(const AddressRange& range) const {
    return std::any_of(reads_.begin(), reads_.end(),
                       [&](const AddressRange& read) { return read.meets(range); });
  }
  /// Generates the missing parts of a range, which may extend past the buffer.
  void make(std::uint64_t address, std::size_t bytes);
  void make_all(unsigned threads);
  /// Call before other code overwrites the whole range, while no kernel runs. Generates the parts
  /// that extend past the range, and marks the parts within the range as generated.
  void leave(const AddressRange& range);

 private:
  static constexpr std::size_t kLocks = 64;
  static constexpr std::size_t kPartsOfWord = 64;

  std::uint64_t part_bytes() const { return static_cast<std::uint64_t>(part_items_) * item_bytes_; }
  static std::uint64_t bit_of(std::size_t part) { return std::uint64_t{1} << part % kPartsOfWord; }
  bool is_made(std::size_t part) const {
    return (made_[part / kPartsOfWord].load(std::memory_order_acquire) & bit_of(part)) != 0;
  }
  void set_made(std::size_t part) {
    made_[part / kPartsOfWord].fetch_or(bit_of(part), std::memory_order_release);
  }
  void make_part(std::size_t part);

  HostLoop loop_;
  std::int64_t part_items_;
  std::uint64_t item_bytes_;
  AddressRange range_;
  std::vector<AddressRange> reads_;
  std::size_t parts_;
  std::vector<std::atomic<std::uint64_t>> made_;
  std::unique_ptr<std::mutex[]> locks_;  ///< shared by the parts, round-robin
};

}  // namespace gpuexp::sim
