#include "sim/late_fill.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace gpuexp::sim {

LateFill::LateFill(HostLoop loop, std::vector<AddressRange> reads, std::int64_t part_items)
    : loop_(std::move(loop)),
      part_items_(part_items),
      item_bytes_(static_cast<std::uint64_t>(loop_.item_bytes)),
      reads_(std::move(reads)),
      parts_(static_cast<std::size_t>((loop_.items + part_items_ - 1) / part_items_)),
      made_((parts_ + kPartsOfWord - 1) / kPartsOfWord),
      locks_(std::make_unique<std::mutex[]>(kLocks)) {
  range_.begin = reinterpret_cast<std::uint64_t>(loop_.to);
  range_.end = range_.begin + static_cast<std::uint64_t>(loop_.items) * item_bytes_;
}

void LateFill::make(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t first = std::max(address, range_.begin);
  const std::uint64_t end = std::min(address + bytes, range_.end);
  if (first >= end) return;
  const std::uint64_t last = (end - 1 - range_.begin) / part_bytes();
  for (std::uint64_t part = (first - range_.begin) / part_bytes(); part <= last; ++part) {
    if (!is_made(part)) make_part(part);
  }
}

void LateFill::make_part(std::size_t part) {
  const std::lock_guard lock(locks_[part % kLocks]);
  if (is_made(part)) return;
  const std::int64_t first = static_cast<std::int64_t>(part) * part_items_;
  loop_.run(first, std::min(first + part_items_, loop_.items));
  set_made(part);
}

void LateFill::make_all(unsigned threads) {
  constexpr std::int64_t kPartsAtOnce = 512;
  for_parts(threads, static_cast<std::int64_t>(parts_), kPartsAtOnce,
            [&](std::int64_t first, std::int64_t end) {
              for (std::int64_t part = first; part < end; ++part) {
                if (!is_made(static_cast<std::size_t>(part)))
                  make_part(static_cast<std::size_t>(part));
              }
            });
}

void LateFill::leave(const AddressRange& range) {
  if (!range.meets(range_)) return;
  const std::uint64_t first = std::max(range.begin, range_.begin);
  const std::uint64_t end = std::min(range.end, range_.end);
  for (std::uint64_t at = range_.begin + (first - range_.begin) / part_bytes() * part_bytes();
       at < end; at += part_bytes()) {
    const AddressRange part{at, std::min(at + part_bytes(), range_.end)};
    if (range.has(part))
      set_made((at - range_.begin) / part_bytes());
    else
      make(part.begin, part.end - part.begin);
  }
}

}  // namespace gpuexp::sim
