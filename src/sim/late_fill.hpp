// The contents of a buffer that are made where they are first touched: of a large input of which a
// few blocks read little, little is made.
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

/// Addresses from `begin` on, up to `end`.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool meets(const AddressRange& other) const { return begin < other.end && other.begin < end; }
  bool has(const AddressRange& other) const { return begin <= other.begin && other.end <= end; }
};

/// Parts of so many items each. Several threads may ask for them.
class LateFill {
 public:
  /// 512 bytes of fp32: a scattered access makes little in vain, and a contiguous one seldom asks.
  static constexpr std::int64_t kPartItems = 128;

  /// The loop has a place to write to. `reads` is what it reads, which stays as it is meanwhile.
  explicit LateFill(HostLoop loop, std::vector<AddressRange> reads = {},
                    std::int64_t part_items = kPartItems);

  const AddressRange& range() const { return range_; }
  bool reads_from(const AddressRange& range) const {
    return std::any_of(reads_.begin(), reads_.end(),
                       [&](const AddressRange& read) { return read.meets(range); });
  }
  /// Makes what is not there yet of a range, which may reach beyond what the loop writes.
  void make(std::uint64_t address, std::size_t bytes);
  /// On several threads.
  void make_all(unsigned threads);
  /// All of the range is about to be written by somebody else, while no kernel runs: of it, only
  /// parts that reach beyond it are made.
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
  std::vector<std::atomic<std::uint64_t>> made_;  ///< a bit of each part
  std::unique_ptr<std::mutex[]> locks_;           ///< of parts, in turn
};

}  // namespace gpuexp::sim
