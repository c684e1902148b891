// Flags, asynchronous copies and mbarriers in shared memory, which order accesses of single warps.
#include <algorithm>
#include <bit>

#include "sim/shared_shadow.hpp"

namespace gpuexp::sim {

namespace {

// Calls visit(address of the word, address of its first accessed byte).
template <class Visit>
void for_each_word(const MemoryAccess& access, unsigned lane, const Visit& visit) {
  constexpr std::uint64_t kWordBytes = 4;
  const std::uint64_t first = access.address[lane];
  for (std::uint64_t at = first; at < first + access.width; at += kWordBytes)
    visit(at / kWordBytes * kWordBytes, at);
}

}  // namespace

std::optional<Conflict> SharedShadow::read_flag(const Accessor& who, const MemoryAccess& access) {
  constexpr std::uint64_t kMbarrierBytes = 8;
  const std::size_t cells = access.width >> shift_;
  std::optional<Conflict> unwritten;
  for (LaneMask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t address = access.address[lane];
    if (copies_.is_mbarrier(address)) {
      wait_for_phase(who, lane, address / kMbarrierBytes * kMbarrierBytes);
      continue;
    }
    const std::size_t first = address >> shift_;
    for (std::size_t c = first; c < first + cells; ++c) {
      if (written_[c] == kCopying)
        return conflict(who, Conflict::Kind::is_copied, lane, c, address);
      if (written_[c] != 0) continue;
      if (!unwritten) unwritten = conflict(who, Conflict::Kind::unwritten, lane, c, address);
      unwritten->lanes |= LaneMask{1} << lane;
    }
    mark_flag(first, cells);
    learn_from_flag(who, lane, access);
  }
  return unwritten;
}

void SharedShadow::mark_flag(std::size_t first, std::size_t cells) {
  if (flags_.empty()) flags_.resize(written_.size());
  std::fill_n(flags_.begin() + static_cast<std::ptrdiff_t>(first), cells, clock_);
}

void SharedShadow::learn_from_flag(const Accessor& who, unsigned lane, const MemoryAccess& access) {
  for_each_word(access, lane, [&](std::uint64_t word, std::uint64_t at) {
    const Record writer = writer_[at >> shift_];
    if (writer & kAtomic)
      warp_order_.read_atomic(who.warp, word);
    else
      warp_order_.read_flag(who.warp, (writer & kThreadMask) / kLanes, written_[at >> shift_]);
  });
}

void SharedShadow::note_atomic(const Accessor& who, unsigned lane, const MemoryAccess& access) {
  for_each_word(access, lane, [&](std::uint64_t word, std::uint64_t at) {
    const Record writer = writer_[at >> shift_];
    if (!(writer & kAtomic))
      warp_order_.begin_atomics(word, (writer & kThreadMask) / kLanes, written_[at >> shift_]);
    warp_order_.change_atomic(who.warp, word);
  });
}

void SharedShadow::commit_copies(unsigned warp, LaneMask lanes) {
  copies_.commit(warp, lanes);
}

void SharedShadow::wait_for_copies(unsigned warp, LaneMask lanes, std::uint32_t left) {
  for (const PendingCopies::Bytes& bytes : copies_.complete_groups(warp, lanes, left)) {
    for (std::size_t c = bytes.address >> shift_; c < (bytes.address + bytes.width) >> shift_; ++c)
      written_[c] = clock_;
  }
}

void SharedShadow::wait_for_phase(const Accessor& who, unsigned lane, std::uint64_t mbarrier) {
  const std::vector<PendingCopies::Bytes> completed = copies_.complete_phases(mbarrier);
  for (const PendingCopies::Bytes& bytes : completed) {
    for (std::size_t c = bytes.address >> shift_; c < (bytes.address + bytes.width) >> shift_;
         ++c) {
      written_[c] = clock_;
      writer_[c] = writer_[c] >> kPlaceShift << kPlaceShift | kAwaited | thread_of(who, lane);
    }
  }
  warp_order_.wait_for_phase(who.warp, mbarrier, !completed.empty());
}

}  // namespace gpuexp::sim
