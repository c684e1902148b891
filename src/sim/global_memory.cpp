#include "sim/global_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/demangled_name.hpp"
#include "base/text.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::uint64_t kWidestAccess = 16;
constexpr std::byte kMark{1};
constexpr std::uint64_t kMarks = 0x0101010101010101;

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Calls function(address, bytes) for the part of the range that is in the buffer, if any.
template <class Function>
void for_overlap(const GlobalBuffer& buffer, std::uint64_t begin, std::size_t bytes,
                 const Function& function) {
  const std::uint64_t first = std::max(begin, buffer.begin());
  const std::uint64_t end = std::min(begin + bytes, buffer.end());
  if (first < end) function(first, static_cast<std::size_t>(end - first));
}

AddressRange range_of(const void* begin, std::size_t bytes) {
  return {address_of(begin), address_of(begin) + bytes};
}

std::size_t bytes_of(const HostLoop& loop) {
  return static_cast<std::size_t>(loop.items * loop.item_bytes);
}

/// For smaller fills and copies, deferring costs more time than it saves.
constexpr std::size_t kMinDeferredBytes = std::size_t{1} << 16;

/// A loop over bytes, in which write(at, count) writes `count` bytes at offset `at`. Items have 4
/// bytes if the size is a multiple of 4, so that fewer, larger parts are generated.
template <class Write>
HostLoop loop_over_bytes(void* to, std::size_t bytes, const Write& write) {
  const std::size_t item = bytes % 4 == 0 ? 4 : 1;
  return {static_cast<std::int64_t>(bytes / item),
          [write, item](std::int64_t first, std::int64_t end) {
            write(static_cast<std::size_t>(first) * item,
                  static_cast<std::size_t>(end - first) * item);
          },
          to, static_cast<std::int64_t>(item)};
}

template <class T>
void store(std::byte* at, T value) {
  std::atomic_ref<T>(*reinterpret_cast<T*>(at)).store(value, std::memory_order_relaxed);
}

/// Stores `count` bytes. All bytes of `word` have the value to store.
void store_all(std::byte* at, std::size_t count, std::uint64_t word) {
  const std::byte* const end = at + count;
  while (at != end) {
    const bool is_whole =
        address_of(at) % sizeof word == 0 && static_cast<std::size_t>(end - at) >= sizeof word;
    if (is_whole) {
      store(at, word);
    } else {
      store(at, static_cast<std::uint8_t>(word));
    }
    at += is_whole ? sizeof word : 1;
  }
}

}  // namespace

ByteMarks::ByteMarks(std::size_t bytes) : pages_((bytes + kPageBytes - 1) / kPageBytes) {}

ByteMarks::ByteMarks(ByteMarks&& other) noexcept : pages_(std::exchange(other.pages_, {})) {}

ByteMarks& ByteMarks::operator=(ByteMarks&& other) noexcept {
  std::swap(pages_, other.pages_);
  return *this;
}

ByteMarks::~ByteMarks() {
  for (const Page& page : pages_)
    delete[] page.load();
}

std::byte* ByteMarks::page_at(std::size_t offset) {
  Page& page = pages_[offset / kPageBytes];
  std::byte* existing = page.load(std::memory_order_acquire);
  if (existing) return existing;
  auto created = std::make_unique<std::byte[]>(kPageBytes);
  if (page.compare_exchange_strong(existing, created.get(), std::memory_order_acq_rel))
    existing = created.release();
  return existing;
}

bool ByteMarks::is_marked(std::size_t offset, std::size_t bytes) const {
  std::byte* const page = pages_[offset / kPageBytes].load(std::memory_order_acquire);
  if (!page) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (std::atomic_ref<std::byte>(page[offset % kPageBytes + i]).load(std::memory_order_relaxed) !=
        kMark)
      return false;
  }
  return true;
}

void ByteMarks::mark(std::size_t offset, std::size_t bytes) {
  std::byte* const marks = page_at(offset) + offset % kPageBytes;
  switch (bytes) {
    case 1: return store(marks, static_cast<std::uint8_t>(kMarks));
    case 2: return store(marks, static_cast<std::uint16_t>(kMarks));
    case 4: return store(marks, static_cast<std::uint32_t>(kMarks));
    case 16: store(marks + 8, kMarks); [[fallthrough]];
    default: return store(marks, kMarks);
  }
}

void ByteMarks::set(std::size_t offset, std::size_t bytes, bool is_marked) {
  for (const std::size_t end = offset + bytes; offset < end;) {
    const std::size_t in_page = offset % kPageBytes;
    const std::size_t count = std::min(kPageBytes - in_page, end - offset);
    if (is_marked || pages_[offset / kPageBytes].load())
      store_all(page_at(offset) + in_page, count, is_marked ? kMarks : 0);
    offset += count;
  }
}

void ByteMarks::for_marked(
    std::size_t begin, std::size_t end,
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  std::size_t found_first = begin;
  std::size_t found_end = begin;
  for (std::size_t at = begin; at < end;) {
    const std::size_t page_first = at - at % kPageBytes;
    const std::size_t stop = std::min(end, page_first + kPageBytes);
    const std::byte* const page = pages_[at / kPageBytes].load();
    while (page && at < stop) {
      const auto place = [&](const std::byte* mark) {
        return page_first + static_cast<std::size_t>(mark - page);
      };
      const std::byte* const last = page + (stop - page_first);
      const std::byte* const marked = std::find(page + (at - page_first), last, kMark);
      const std::byte* const unmarked = std::find(marked, last, std::byte{0});
      if (marked < unmarked) {
        if (place(marked) != found_end) {
          if (found_first < found_end) range(found_first, found_end);
          found_first = place(marked);
        }
        found_end = place(unmarked);
      }
      at = place(unmarked);
    }
    at = stop;
  }
  if (found_first < found_end) range(found_first, found_end);
}

GlobalBuffer::GlobalBuffer(std::uint64_t begin, std::size_t bytes, std::string name,
                           Contents contents, std::size_t element_bytes)
    : begin_(begin),
      end_(begin + bytes),
      origin_(begin & ~(kWidestAccess - 1)),
      name_(std::move(name)),
      element_bytes_(element_bytes) {
  if (contents == Contents::poison) set_poison(begin_, bytes);
}

std::string GlobalBuffer::description() const {
  const std::uint64_t bytes = end_ - begin_;
  // Compilers give these names to string literals and to arrays of constants.
  if (name_.starts_with("__unnamed_") || name_.starts_with("$str"))
    return fmt::format("a constant of {} bytes that the compiler made", bytes);
  return fmt::format("buffer {}{}of {} bytes", demangled_name(name_), name_.empty() ? "" : " ",
                     bytes);
}

std::string GlobalBuffer::description_of(std::uint64_t address) const {
  const std::uint64_t byte = address - begin_;
  if (element_bytes_ > 0 && byte % element_bytes_ == 0)
    return fmt::format("element {} of {}", byte / element_bytes_, description());
  return fmt::format("byte {} of {}", byte, description());
}

bool GlobalBuffer::is_written(std::uint64_t address, std::size_t bytes) const {
  return !written_ || written_->is_marked(offset_of(address), bytes);
}

void GlobalBuffer::for_marked(
    const ByteMarks& marks,
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  const std::size_t before = begin_ - origin_;
  marks.for_marked(before, end_ - origin_, [&](std::size_t first, std::size_t end) {
    range(first - before, end - before);
  });
}

void GlobalBuffer::for_written(
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  if (!written_) return range(0, end_ - begin_);
  for_marked(*written_, range);
}

void GlobalBuffer::for_stored(
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  if (stores_) for_marked(*stores_, range);
}

void GlobalBuffer::mark(std::uint64_t address, std::size_t bytes) {
  if (written_) written_->mark(offset_of(address), bytes);
  if (stores_) stores_->mark(offset_of(address), bytes);
}

void GlobalBuffer::mark_range(std::uint64_t address, std::size_t bytes) {
  if (written_) written_->set(offset_of(address), bytes, true);
}

void GlobalBuffer::copy_marks_concurrently(std::uint64_t address, const GlobalBuffer& from,
                                           std::uint64_t at, std::size_t bytes) {
  if (!written_) return;
  std::size_t known = 0;
  for (const auto& [first, end] : from.written_of(at, bytes)) {
    written_->set(offset_of(address + known), first - known, false);
    written_->set(offset_of(address + first), end - first, true);
    known = end;
  }
  written_->set(offset_of(address + known), bytes - known, false);
}

void GlobalBuffer::set_written(std::uint64_t address, std::size_t bytes) {
  if (bytes == end_ - begin_) return written_.reset();
  mark_range(address, bytes);
}

void GlobalBuffer::set_poison(std::uint64_t address, std::size_t bytes) {
  const bool was_written = is_written();
  const bool is_all = bytes == end_ - begin_;
  if (is_all || was_written) written_.emplace(end_ - origin_);
  if (is_all) return;
  if (was_written) written_->set(begin_ - origin_, end_ - begin_, true);
  written_->set(offset_of(address), bytes, false);
}

void GlobalBuffer::copy_marks(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
                              std::size_t bytes) {
  // Computed before the range is poisoned, because the range may overlap its source in `from`.
  const auto written = from.written_of(at, bytes);
  if (written.size() == 1 && written.front() == std::pair(std::size_t{0}, bytes))
    return set_written(address, bytes);
  set_poison(address, bytes);
  for (const auto& [first, end] : written)
    set_written(address + first, end - first);
}

std::vector<std::pair<std::size_t, std::size_t>> GlobalBuffer::written_of(std::uint64_t address,
                                                                          std::size_t bytes) const {
  std::vector<std::pair<std::size_t, std::size_t>> written;
  const std::size_t begin = address - begin_;
  for_written([&](std::size_t first, std::size_t end) {
    first = std::max(first, begin);
    end = std::min(end, begin + bytes);
    if (first < end) written.emplace_back(first - begin, end - begin);
  });
  return written;
}

void GlobalBuffer::settle() {
  if (!written_) return;
  std::size_t whole = 0;
  for_written([&](std::size_t first, std::size_t end) { whole += end - first; });
  if (whole == end_ - begin_) written_.reset();
}

void GlobalMemory::add(void* begin, std::size_t bytes, std::string name, Contents contents,
                       std::size_t element_bytes) {
  GlobalBuffer buffer(address_of(begin), bytes, std::move(name), contents, element_bytes);
  const auto at = std::lower_bound(
      buffers_.begin(), buffers_.end(), buffer.begin(),
      [](const auto& known, std::uint64_t address) { return known.begin() < address; });
  buffers_.insert(at, std::move(buffer));
}

void GlobalMemory::remove(const void* begin) {
  std::erase_if(buffers_, [&](const GlobalBuffer& b) { return b.begin() == address_of(begin); });
}

void GlobalMemory::poison(const void* begin, std::size_t bytes) {
  for (GlobalBuffer& buffer : buffers_) {
    for_overlap(buffer, address_of(begin), bytes,
                [&](std::uint64_t address, std::size_t part) { buffer.set_poison(address, part); });
  }
}

void GlobalMemory::note_fill(const void* to, std::size_t bytes) {
  for (GlobalBuffer& buffer : buffers_) {
    for_overlap(buffer, address_of(to), bytes, [&](std::uint64_t address, std::size_t part) {
      if (is_shared_) {
        buffer.mark_range(address, part);
      } else {
        buffer.set_written(address, part);
      }
      buffer.note_store();
    });
  }
}

void GlobalMemory::note_copy(const void* to, const void* from, std::size_t bytes) {
  GlobalBuffer* const target = find(address_of(to), bytes);
  const GlobalBuffer* const source = find(address_of(from), bytes);
  if (!target || !source) return note_fill(to, bytes);
  if (bytes == 0) return;
  target->note_store();
  if (is_shared_) {
    target->copy_marks_concurrently(address_of(to), *source, address_of(from), bytes);
  } else {
    target->copy_marks(address_of(to), *source, address_of(from), bytes);
  }
}

void GlobalMemory::set_constant(const void* begin) {
  if (GlobalBuffer* const buffer = find(begin)) buffer->set_constant();
}

bool GlobalMemory::defer_fill(const HostLoop& loop, std::span<const std::byte> arguments,
                              std::int64_t part_items) {
  const GlobalBuffer* const target = find(address_of(loop.to), bytes_of(loop));
  if (!target) return false;
  std::vector<AddressRange> reads;
  // Addresses in the arguments, such as members of a structure, are aligned to 8 bytes.
  std::uint64_t word = 0;
  for (std::size_t at = 0; at + sizeof word <= arguments.size(); at += sizeof word) {
    std::memcpy(&word, arguments.data() + at, sizeof word);
    for (const GlobalBuffer& buffer : buffers_) {
      if (&buffer == target || word < buffer.begin() || word >= buffer.end()) continue;
      if (!buffer.is_constant()) return false;
      reads.push_back({buffer.begin(), buffer.end()});
    }
  }
  if (reads.empty()) return fill_from({}, loop, part_items);
  // An item may depend on any item of these buffers, so they are generated completely first.
  HostLoop reader = loop;
  const auto once = std::make_shared<std::once_flag>();
  reader.run = [this, once, reads, loop](std::int64_t first, std::int64_t end) {
    std::call_once(*once, [&] {
      for (const AddressRange& read : reads)
        make(reinterpret_cast<const void*>(read.begin), read.end - read.begin);
    });
    loop.run(first, end);
  };
  return fill_from(std::move(reads), std::move(reader), part_items);
}

bool GlobalMemory::fill_from(std::vector<AddressRange> reads, HostLoop loop,
                             std::int64_t part_items) {
  GlobalBuffer* const target = find(address_of(loop.to), bytes_of(loop));
  if (!target) return false;
  const void* const to = loop.to;
  const std::size_t bytes = bytes_of(loop);
  auto fill = std::make_unique<LateFill>(std::move(loop), std::move(reads), part_items);
  prepare_to_write(fill->range());
  note_fill(to, bytes);
  target->defer_fill(std::move(fill));
  return true;
}

void GlobalMemory::set(void* to, unsigned char value, std::size_t bytes) {
  const HostLoop loop = loop_over_bytes(to, bytes, [to, value](std::size_t at, std::size_t count) {
    std::memset(static_cast<std::byte*>(to) + at, value, count);
  });
  if (!is_shared_ && bytes >= kMinDeferredBytes && fill_from({}, loop)) return;
  prepare_to_write(range_of(to, bytes));
  std::memset(to, value, bytes);
  note_fill(to, bytes);
}

void GlobalMemory::copy(void* to, const void* from, std::size_t bytes) {
  const GlobalBuffer* const source = find(address_of(from), bytes);
  const GlobalBuffer* const target = find(address_of(to), bytes);
  const bool may_wait = !is_shared_ && source && source != target && source->is_constant();
  const HostLoop loop =
      loop_over_bytes(to, bytes, [this, to, from](std::size_t at, std::size_t count) {
        const std::byte* const first = static_cast<const std::byte*>(from) + at;
        make(first, count);
        std::memcpy(static_cast<std::byte*>(to) + at, first, count);
      });
  if (bytes < kMinDeferredBytes || !may_wait || !fill_from({range_of(from, bytes)}, loop)) {
    make(from, bytes);
    make(to, bytes);  // `from` may overlap `to`
    prepare_to_write(range_of(to, bytes));
    std::memmove(to, from, bytes);
  }
  note_copy(to, from, bytes);
}

void GlobalMemory::prepare_to_write(const AddressRange& range) {
  for (GlobalBuffer& buffer : buffers_) {
    if (leaves_overwritten_) {
      buffer.cancel_readers(range);
    } else {
      buffer.make_readers(range);
    }
  }
  for (GlobalBuffer& buffer : buffers_)
    buffer.leave(range);
}

void GlobalMemory::make(const void* begin, std::size_t bytes) const {
  for (const GlobalBuffer& buffer : buffers_)
    buffer.make(address_of(begin), bytes);
}

void GlobalMemory::make_all(unsigned threads) {
  for (GlobalBuffer& buffer : buffers_)
    buffer.make_all(threads);
}

void GlobalMemory::settle() {
  for (GlobalBuffer& buffer : buffers_)
    buffer.settle();
}

GlobalBuffer* GlobalMemory::find(std::uint64_t address, std::size_t bytes) {
  for (GlobalBuffer& buffer : buffers_) {
    if (buffer.has(address, bytes)) return &buffer;
  }
  return nullptr;
}

std::byte* GlobalMemory::at(std::uint64_t address, std::size_t bytes) const {
  for (const GlobalBuffer& buffer : buffers_) {
    if (!buffer.has(address, bytes)) continue;
    buffer.make(address, bytes);
    return reinterpret_cast<std::byte*>(address);
  }
  throw Fault(FaultKind::out_of_bounds, describe_outside(address, bytes), address);
}

namespace {

void make_lanes(const GlobalBuffer& buffer, const MemoryAccess& access) {
  const std::uint64_t bytes = access.shape.last - access.shape.first + access.width;
  if (bytes <= std::uint64_t{kLanes} * access.width) return buffer.make(access.shape.first, bytes);
  for_each_lane(access.lanes, [&](unsigned l) { buffer.make(access.address[l], access.width); });
}

}  // namespace

bool GlobalMemory::holds(const MemoryAccess& access) const {
  const AccessShape& shape = access.shape;
  if (!shape.is_aligned) return false;
  for (const GlobalBuffer& buffer : buffers_) {
    if (!buffer.has(shape.first, shape.last - shape.first + access.width)) continue;
    if (!buffer.is_made()) make_lanes(buffer, access);
    return true;
  }
  return false;
}

std::string GlobalMemory::describe_outside(std::uint64_t address, std::size_t bytes) const {
  std::string text = fmt::format("{} bytes at {:#x} are outside of every buffer", bytes, address);
  constexpr std::uint64_t kNullPage = 4096;  // no buffer is this far down
  if (address < kNullPage) return text + ": the pointer is null";
  const GlobalBuffer* nearest = nullptr;
  std::uint64_t min_distance = 0;
  const auto distance = [&](const GlobalBuffer& buffer) {
    return address < buffer.begin() ? buffer.begin() - address : address + bytes - buffer.end();
  };
  for (const GlobalBuffer& buffer : buffers_) {
    if (nearest && distance(buffer) >= min_distance) continue;
    nearest = &buffer;
    min_distance = distance(buffer);
  }
  if (!nearest) return text;
  if (address < nearest->begin())
    return fmt::format("{}: they begin {} bytes before {}", text, min_distance,
                       nearest->description());
  return fmt::format("{}: they end {} bytes past the end of {}", text, min_distance,
                     nearest->description());
}

std::string GlobalMemory::describe_misaligned(std::uint64_t address, std::size_t bytes) const {
  const auto buffer =
      std::ranges::find_if(buffers_, [&](const GlobalBuffer& one) { return one.has(address, 1); });
  if (buffer == buffers_.end()) return sim::describe_misaligned(address, bytes);
  return fmt::format(
      "{} bytes at {:#x} are not aligned: they begin at {}, {} past a multiple of {}", bytes,
      address, buffer->description_of(address), counted(address % bytes, "byte"), bytes);
}

}  // namespace gpuexp::sim
