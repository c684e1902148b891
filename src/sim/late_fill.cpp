#include "sim/late_fill.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace gpuexp::sim {

LateFill::LateFill(HostLoop loop)
    : loop_(std::move(loop)),
      begin_(reinterpret_cast<std::uint64_t>(loop_.to)),
      end_(begin_ + static_cast<std::uint64_t>(loop_.items * loop_.item_bytes)),
      is_made_(static_cast<std::size_t>((loop_.items + kPartItems - 1) / kPartItems)),
      locks_(std::make_unique<std::mutex[]>(kLocks)) {}

void LateFill::make(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t first = std::max(address, begin_);
  const std::uint64_t end = std::min(address + bytes, end_);
  if (first >= end) return;
  const auto part_bytes = static_cast<std::uint64_t>(kPartItems * loop_.item_bytes);
  for (std::uint64_t part = (first - begin_) / part_bytes; part <= (end - 1 - begin_) / part_bytes;
       ++part) {
    if (!is_made_[part].load(std::memory_order_acquire)) make_part(part);
  }
}

void LateFill::make_part(std::size_t part) {
  const std::lock_guard lock(locks_[part % kLocks]);
  if (is_made_[part].load(std::memory_order_relaxed)) return;
  const std::int64_t first = static_cast<std::int64_t>(part) * kPartItems;
  loop_.run(first, std::min(first + kPartItems, loop_.items));
  is_made_[part].store(true, std::memory_order_release);
}

void LateFill::make_all(unsigned threads) {
  constexpr std::int64_t kPartsAtOnce = 128;
  for_parts(threads, static_cast<std::int64_t>(is_made_.size()), kPartsAtOnce,
            [&](std::int64_t first, std::int64_t end) {
              for (std::int64_t part = first; part < end; ++part) {
                if (!is_made_[static_cast<std::size_t>(part)].load(std::memory_order_acquire))
                  make_part(static_cast<std::size_t>(part));
              }
            });
}

}  // namespace gpuexp::sim
