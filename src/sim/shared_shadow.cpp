#include "sim/shared_shadow.hpp"

#include <algorithm>
#include <bit>

#include "sim/program.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Conflict::Kind;

constexpr unsigned kMaxShift = 4;  // 16 bytes

template <class T>
std::vector<T> split(const std::vector<T>& cells, unsigned parts) {
  std::vector<T> all;
  all.reserve(cells.size() * parts);
  for (const T& cell : cells)
    all.insert(all.end(), parts, cell);
  return all;
}

bool has_same_value(const MemoryAccess& access, unsigned a, unsigned b) {
  if (access.source) return (*access.source)[a] == (*access.source)[b];
  if (!access.values) return true;
  const std::uint32_t mask = access.width < 4 ? (1u << 8 * access.width) - 1 : ~0u;
  for (unsigned w = 0; w < (access.width + 3) / 4; ++w) {
    if ((access.values[w][a] ^ access.values[w][b]) & mask) return false;
  }
  return true;
}

}  // namespace

SharedShadow::SharedShadow(std::size_t bytes, std::size_t warps, bool orders_warps)
    : shift_(kMaxShift),
      written_((bytes >> kMaxShift) + 1),
      writer_(written_.size()),
      readers_(written_.size()),
      reader_(written_.size()),
      touched_begin_(written_.size()),
      copies_(warps),
      warp_order_(clock_, orders_warps ? warps : 0),
      atomics_(warps),
      equal_stores_(warps),
      reads_(orders_warps ? warps : 0) {}

void SharedShadow::fit(unsigned width) {
  const auto shift = static_cast<unsigned>(std::countr_zero(width));
  if (shift >= shift_) return;
  const unsigned parts = 1u << (shift_ - shift);
  written_ = split(written_, parts);
  writer_ = split(writer_, parts);
  readers_ = split(readers_, parts);
  reader_ = split(reader_, parts);
  partial_reads_ = split(partial_reads_, parts);
  flags_ = split(flags_, parts);
  equal_ = split(equal_, parts);
  for (auto* const all : {&atomics_, &equal_stores_, &reads_}) {
    for (WarpPast& past : *all) {
      past.time = split(past.time, parts);
      past.record = split(past.record, parts);
    }
  }
  touched_begin_ *= parts;
  touched_end_ *= parts;
  shift_ = shift;
}

std::optional<Conflict> SharedShadow::note(const Accessor& who, const MemoryAccess& access) {
  fit(access.width);
  switch (access.kind) {
    case Access::load:
    case Access::async_load: return read(who, access);
    case Access::store:
    case Access::atomic:
    case Access::reduction:
    case Access::async_store: return write(who, access);
    case Access::bulk_load:
    case Access::bulk_store:
    case Access::matrix_load: break;  // ranges, not accesses of lanes
  }
  return std::nullopt;
}

GPUEXP_VECTORIZED SharedShadow::Runs SharedShadow::runs_of(const MemoryAccess& access) const {
  const std::size_t cells = access.width >> shift_;
  Runs runs;
  using Pattern = AccessShape::Pattern;
  if (access.shape.pattern != Pattern::other) {
    const bool is_one = access.shape.pattern == Pattern::one;
    runs.all[0] = {access.address[0] >> shift_, is_one ? cells : kLanes * cells, 0};
    runs.count = 1;
    return runs;
  }
  for_each_lane(access.lanes, [&](unsigned lane) {
    const std::size_t first = access.address[lane] >> shift_;
    if (runs.count > 0) {
      Run& last = runs.all[runs.count - 1];
      const std::size_t lanes = last.cells / cells;
      if (first == last.first + last.cells && lane == last.lane + lanes) {
        last.cells += cells;
        return;
      }
      // The lane accesses the same cells as the previous lane.
      if (first == last.first + last.cells - cells) return;
    }
    runs.all[runs.count++] = {first, cells, lane};
  });
  return runs;
}

// ---- reads

// Most frequent case: a whole warp reads cells that were written before the barrier. If this
// function returns false, read() checks each cell.
GPUEXP_VECTORIZED bool SharedShadow::read_at_once(const Accessor& who, const MemoryAccess& access,
                                                  const Runs& runs) {
  const auto cells_shift = static_cast<unsigned>(std::countr_zero(access.width)) - shift_;
  const std::uint32_t warp = 1u << who.warp;
  const BlockTime barrier = barrier_;
  std::uint32_t is_new = 0;
  for (unsigned r = 0; r < runs.count; ++r) {
    const Run& run = runs.all[r];
    const Record record = record_of(who, run.lane);
    const BlockTime* const written = &written_[run.first];
    std::uint32_t* const readers = &readers_[run.first];
    Record* const reader = &reader_[run.first];
    const auto cells = static_cast<std::uint32_t>(run.cells);
    for (std::uint32_t i = 0; i < cells; ++i) {
      is_new |= std::uint32_t{written[i] - 1 >= barrier};
      readers[i] |= warp;
      reader[i] = record + (i >> cells_shift);
    }
    touch(run.first, run.first + run.cells);
  }
  return is_new == 0;
}

// For barriers with a thread count, the time of a warp's last read must be known, not only whether
// it has read.
void SharedShadow::note_reads(const Accessor& who, const MemoryAccess& access, const Runs& runs) {
  WarpPast& past = past_of(reads_, who.warp);
  set_cells(who, access, runs, clock_, past.time, past.record);
}

GPUEXP_VECTORIZED void SharedShadow::set_cells(const Accessor& who, const MemoryAccess& access,
                                               const Runs& runs, BlockTime time,
                                               std::vector<BlockTime>& times,
                                               std::vector<Record>& records) const {
  const auto cells_shift = static_cast<unsigned>(std::countr_zero(access.width)) - shift_;
  for (unsigned r = 0; r < runs.count; ++r) {
    const Run& run = runs.all[r];
    const Record record = record_of(who, run.lane);
    BlockTime* const times_of_run = &times[run.first];
    Record* const records_of_run = &records[run.first];
    const auto cells = static_cast<std::uint32_t>(run.cells);
    for (std::uint32_t i = 0; i < cells; ++i) {
      times_of_run[i] = time;
      records_of_run[i] = record + (i >> cells_shift);
    }
  }
}

std::optional<Conflict> SharedShadow::read(const Accessor& who, const MemoryAccess& access) {
  if (access.is_flag || is_mbarrier(access)) return read_flag(who, access);
  if (who.is_whole || !reads_.empty()) {
    const Runs runs = runs_of(access);
    if (!reads_.empty()) note_reads(who, access, runs);
    if (who.is_whole && read_at_once(who, access, runs)) return std::nullopt;
  }
  const std::size_t cells = access.width >> shift_;
  if (!who.is_whole && partial_reads_.empty()) partial_reads_.resize(written_.size());
  std::optional<Conflict> unwritten;
  for (LaneMask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::size_t first = access.address[lane] >> shift_;
    touch(first, first + cells);
    for (std::size_t c = first; c < first + cells; ++c) {
      const auto kind = read_cell(who, lane, c);
      if (kind && kind != Kind::unwritten)
        return conflict(who, *kind, lane, c, access.address[lane]);
      if (!kind) continue;
      if (!unwritten) unwritten = conflict(who, *kind, lane, c, access.address[lane]);
      unwritten->lanes |= LaneMask{1} << lane;
    }
  }
  return unwritten;
}

std::optional<Kind> SharedShadow::read_cell(const Accessor& who, unsigned lane, std::size_t cell) {
  const BlockTime time = written_[cell];
  if (time == 0) return Kind::unwritten;
  if (time == kCopying) return Kind::is_copied;
  if (time > barrier_ && !has_value(who, lane, cell)) return Kind::after_write;
  const std::uint32_t warp = 1u << who.warp;
  if (!(readers_[cell] & warp)) {
    readers_[cell] |= warp;
    reader_[cell] = record_of(who, lane);
  }
  if (who.is_whole) return std::nullopt;
  // Earlier reads by lanes of the same group precede this read and need not be kept.
  PartialRead& partial = partial_reads_[cell];
  const bool is_over = partial.time <= known(who.warp, who.warp) || partial.warp != who.warp;
  const LaneMask others = is_over ? 0 : partial.lanes & ~who.running;
  if (others == 0) partial.time = clock_;
  partial.lanes = others | LaneMask{1} << lane;
  partial.warp = who.warp;
  return std::nullopt;
}

void SharedShadow::touch(std::size_t first, std::size_t end) {
  touched_begin_ = std::min(touched_begin_, first);
  touched_end_ = std::max(touched_end_, end);
}

// ---- writes

// Most frequent case: since the barrier, no warp wrote the cells and no other warp read them.
GPUEXP_VECTORIZED bool SharedShadow::is_free_to_write(const Accessor& who, const Runs& runs) const {
  if (!partial_reads_.empty()) return false;
  const std::uint32_t others = ~(1u << who.warp);
  const BlockTime barrier = barrier_;
  std::uint32_t any = 0;
  for (unsigned r = 0; r < runs.count; ++r) {
    const Run& run = runs.all[r];
    const BlockTime* const written = &written_[run.first];
    const std::uint32_t* const readers = &readers_[run.first];
    for (std::size_t i = 0; i < run.cells; ++i)
      any |= std::uint32_t{written[i] > barrier} | (readers[i] & others);
  }
  return any == 0;
}

void SharedShadow::set_atomic(const Accessor& who, const MemoryAccess& access) {
  const std::size_t cells = access.width >> shift_;
  WarpPast& past = past_of(atomics_, who.warp);
  for_each_lane(access.lanes, [&](unsigned lane) {
    const std::size_t first = access.address[lane] >> shift_;
    if (warp_order_.is_used()) note_atomic(who, lane, access);
    if (access.is_flag) mark_flag(first, cells);
    for (std::size_t c = first; c < first + cells; ++c) {
      const bool follows_last_write = written_[c] <= barrier_ || is_ordered(who, lane, c);
      written_[c] = clock_;
      writer_[c] = record_of(who, lane) | kAtomic | (follows_last_write ? 0 : kSeveral);
      past.time[c] = clock_;
      past.record[c] = record_of(who, lane);
    }
  });
}

std::optional<Conflict> SharedShadow::write(const Accessor& who, const MemoryAccess& access) {
  const std::size_t cells = access.width >> shift_;
  const bool changes = is_atomic(access.kind);
  const Runs runs = runs_of(access);
  const bool is_free = changes ? is_mbarrier(access) : is_free_to_write(who, runs);
  for (LaneMask rest = is_free ? 0 : access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::size_t first = access.address[lane] >> shift_;
    for (std::size_t c = first; c < first + cells; ++c) {
      if (const auto kind = check_write(who, access, lane, c))
        return conflict(who, *kind, lane, c, access.address[lane]);
    }
  }
  if (changes) {
    set_atomic(who, access);
    return std::nullopt;
  }
  const bool is_copied = access.kind == Access::async_store;
  set_cells(who, access, runs, is_copied ? kCopying : clock_, written_, writer_);
  if (is_copied) copies_.add(who.warp, access);
  if (access.is_flag) {
    for (unsigned r = 0; r < runs.count; ++r)
      mark_flag(runs.all[r].first, runs.all[r].cells);
  }
  return find_overlap(who, access);
}

std::optional<Kind> SharedShadow::check_write(const Accessor& who, const MemoryAccess& access,
                                              unsigned lane, std::size_t cell) {
  const BlockTime time = written_[cell];
  const bool changes = is_atomic(access.kind);
  if (changes && time == 0) return Kind::unwritten;
  if (time == kCopying) return Kind::is_copied;
  const bool are_strong = (changes && (writer_[cell] & kAtomic)) || access.is_flag || is_flag(cell);
  if (time > barrier_ && !are_strong && !is_ordered(who, lane, cell)) {
    if (!keeps(access, lane, cell)) return Kind::after_write;
    note_equal_store(who, lane, cell);
  } else if (!equal_.empty()) {
    equal_[cell] = 0;
  }
  if (races_with_reader(who, cell)) return Kind::after_read;
  if (races_with_partial_read(who, lane, cell)) return Kind::after_read;
  return std::nullopt;
}

bool SharedShadow::keeps(const MemoryAccess& access, unsigned lane, std::size_t cell) const {
  constexpr Record kNoStore = kAtomic | kSeveral | kAwaited;
  if (!contents_ || access.kind != Access::store || !access.values) return false;
  if (writer_[cell] & kNoStore) return false;
  const std::byte* const stored = contents_ + access.address[lane];
  for (unsigned byte = 0; byte < access.width; ++byte) {
    const std::uint32_t word = access.values[byte / 4][lane];
    if (stored[byte] != static_cast<std::byte>(word >> 8 * (byte % 4))) return false;
  }
  return true;
}

void SharedShadow::note_equal_store(const Accessor& who, unsigned lane, std::size_t cell) {
  if (equal_.empty()) equal_.resize(written_.size());
  if (!has_equal_stores(cell)) {
    for (WarpPast& past : equal_stores_) {
      if (!past.time.empty()) past.time[cell] = 0;
    }
    WarpPast& first = past_of(equal_stores_, (writer_[cell] & kThreadMask) / kLanes);
    first.time[cell] = written_[cell];
    first.record[cell] = writer_[cell];
  }
  WarpPast& own = past_of(equal_stores_, who.warp);
  own.time[cell] = clock_;
  own.record[cell] = record_of(who, lane);
  equal_[cell] = clock_;
}

bool SharedShadow::races_with_partial_read(const Accessor& who, unsigned lane,
                                           std::size_t cell) const {
  if (partial_reads_.empty()) return false;
  const PartialRead& partial = partial_reads_[cell];
  if (partial.time <= known(who.warp, who.warp) || partial.warp != who.warp) return false;
  const LaneMask diverged = partial.lanes & ~who.running;
  for (LaneMask rest = diverged; rest != 0; rest &= rest - 1) {
    const auto reader = static_cast<unsigned>(std::countr_zero(rest));
    if (!who.order || !who.order->is_before(reader, partial.time, lane)) return true;
  }
  return false;
}

// Finds lanes of a write that store different values to one cell; the cell keeps one lane's record.
std::optional<Conflict> SharedShadow::find_overlap(const Accessor& who,
                                                   const MemoryAccess& access) const {
  if (access.shape.pattern == AccessShape::Pattern::contiguous) return std::nullopt;
  LaneMask overwritten = 0;
  for_each_lane(access.lanes, [&](unsigned l) {
    const std::size_t cell = access.address[l] >> shift_;
    overwritten |= LaneMask{writer_[cell] != record_of(who, l)} << l;
  });
  for (; overwritten != 0; overwritten &= overwritten - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(overwritten));
    const std::size_t cell = access.address[lane] >> shift_;
    if (!has_same_value(access, lane, writer_[cell] % kLanes))
      return conflict(who, Kind::same_instruction, lane, cell, access.address[lane]);
  }
  return std::nullopt;
}

bool SharedShadow::is_ordered(const Accessor& who, unsigned lane, std::size_t cell) const {
  if (has_equal_stores(cell)) return !unordered_equal_store(who, lane, cell);
  const Record writer = writer_[cell];
  if (writer & kSeveral) return !find_unordered(who, atomics_, cell, ~WarpMask{0});
  return precedes(written_[cell], writer, who, lane);
}

bool SharedShadow::precedes(BlockTime time, Record record, const Accessor& who,
                            unsigned lane) const {
  const std::uint32_t thread = record & kThreadMask;
  if (time <= known(who.warp, thread / kLanes)) return true;
  if (thread / kLanes != who.warp) return false;
  const unsigned writing_lane = thread % kLanes;
  return (who.running >> writing_lane & 1) ||
         (who.order && who.order->is_before(writing_lane, time, lane));
}

std::optional<SharedShadow::Record> SharedShadow::unordered_equal_store(const Accessor& who,
                                                                        unsigned lane,
                                                                        std::size_t cell) const {
  for (const WarpPast& past : equal_stores_) {
    if (!past.time.empty() && !precedes(past.time[cell], past.record[cell], who, lane))
      return past.record[cell];
  }
  return std::nullopt;
}

bool SharedShadow::has_value(const Accessor& who, unsigned lane, std::size_t cell) const {
  if (!has_equal_stores(cell)) return is_ordered(who, lane, cell);
  return std::ranges::any_of(equal_stores_, [&](const WarpPast& past) {
    return !past.time.empty() && past.time[cell] != 0 &&
           precedes(past.time[cell], past.record[cell], who, lane);
  });
}

BlockTime SharedShadow::known(unsigned warp, unsigned about) const {
  return reads_.empty() ? barrier_ : std::max(barrier_, warp_order_.known(warp, about));
}

/// Record of an access by a warp in `of` that does not precede the current access of `who`.
std::optional<SharedShadow::Record> SharedShadow::find_unordered(const Accessor& who,
                                                                 const std::vector<WarpPast>& past,
                                                                 std::size_t cell,
                                                                 WarpMask of) const {
  for (unsigned warp = 0; warp < past.size(); ++warp) {
    if (!(of >> warp & 1) || past[warp].time.empty()) continue;
    if (warp == who.warp && who.is_whole) continue;
    if (past[warp].time[cell] > known(who.warp, warp)) return past[warp].record[cell];
  }
  return std::nullopt;
}

bool SharedShadow::races_with_reader(const Accessor& who, std::size_t cell) const {
  const WarpMask others = readers_[cell] & ~(1u << who.warp);
  return others != 0 && (reads_.empty() || find_unordered(who, reads_, cell, others));
}

SharedShadow::WarpPast& SharedShadow::past_of(std::vector<WarpPast>& all, unsigned warp) const {
  WarpPast& past = all[warp];
  if (past.time.empty()) {
    past.time.resize(written_.size());
    past.record.resize(written_.size());
  }
  return past;
}

Conflict SharedShadow::conflict(const Accessor& who, Kind kind, unsigned lane, std::size_t cell,
                                std::uint64_t address) const {
  Record other = kind == Kind::after_read ? reader_[cell] : writer_[cell];
  if (kind == Kind::after_read) {
    other = find_unordered(who, reads_, cell, ~(1u << who.warp)).value_or(other);
  } else if (other & kSeveral) {
    other = find_unordered(who, atomics_, cell, ~WarpMask{0}).value_or(other);
  } else if (has_equal_stores(cell)) {
    other = unordered_equal_store(who, lane, cell).value_or(other);
  }
  if (kind == Kind::after_write && (other & kAwaited)) kind = Kind::not_awaited;
  PastAccess past{other & kThreadMask, other >> kPlaceShift};
  // Only the last read of a cell is kept, which may be this warp's own.
  const WarpMask others = readers_[cell] & ~(1u << who.warp);
  const bool is_own = past.thread / kLanes == who.warp;
  if (kind == Kind::after_read && is_own && reads_.empty() && others != 0)
    past = {static_cast<std::uint32_t>(std::countr_zero(others)) * kLanes, 0, false};
  return {kind, lane, address, past, LaneMask{1} << lane};
}

// ---- order

void SharedShadow::release_barrier() {
  barrier_ = clock_++;
  if (touched_begin_ < touched_end_)
    std::fill(readers_.begin() + static_cast<std::ptrdiff_t>(touched_begin_),
              readers_.begin() + static_cast<std::ptrdiff_t>(touched_end_), 0);
  touched_begin_ = written_.size();
  touched_end_ = 0;
  partial_reads_.clear();
  warp_order_.order_all();
}

// Makes cells narrow enough that the range consists of whole cells.
void SharedShadow::fit_range(std::uint64_t address, std::size_t bytes) {
  fit(1u << std::countr_zero(address | bytes | std::uint64_t{1} << kMaxShift));
}

void SharedShadow::set_written(std::uint64_t address, std::size_t bytes) {
  fit_range(address, bytes);
  const auto first = static_cast<std::ptrdiff_t>(address >> shift_);
  std::fill_n(written_.begin() + first, bytes >> shift_, barrier_);
  if (!equal_.empty()) std::fill_n(equal_.begin() + first, bytes >> shift_, 0);
}

std::optional<std::uint64_t> SharedShadow::first_unwritten(std::uint64_t address,
                                                           std::size_t bytes) {
  fit_range(address, bytes);
  for (std::size_t cell = address >> shift_; cell < (address + bytes) >> shift_; ++cell) {
    if (written_[cell] == 0) return std::uint64_t{cell} << shift_;
  }
  return std::nullopt;
}

}  // namespace gpuexp::sim
