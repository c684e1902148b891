#include "sim/global_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace gpuexp::sim {

namespace {

constexpr std::uint64_t kWidestAccess = 16;
constexpr std::byte kMark{1};

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Calls function(address, bytes) for the part of a buffer that lies in a range, where there is one.
template <class Function>
void for_overlap(const GlobalBuffer& buffer, std::uint64_t begin, std::size_t bytes,
                 const Function& function) {
  const std::uint64_t first = std::max(begin, buffer.begin());
  const std::uint64_t end = std::min(begin + bytes, buffer.end());
  if (first < end) function(first, static_cast<std::size_t>(end - first));
}

template <class T>
void store(std::byte* at, T value) {
  std::atomic_ref<T>(*reinterpret_cast<T*>(at)).store(value, std::memory_order_relaxed);
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
  std::byte* there = page.load(std::memory_order_acquire);
  if (there) return there;
  auto made = std::make_unique<std::byte[]>(kPageBytes);
  if (page.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel))
    there = made.release();
  return there;
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
  constexpr std::uint64_t kMarks = 0x0101010101010101;
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
      std::memset(page_at(offset) + in_page, is_marked ? 1 : 0, count);
    offset += count;
  }
}

void ByteMarks::for_marked(
    std::size_t begin, std::size_t end,
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  std::size_t found_first = begin;
  std::size_t found_end = begin;  // of what has been found and not told yet
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
                           Contents contents)
    : begin_(begin),
      end_(begin + bytes),
      origin_(begin & ~(kWidestAccess - 1)),
      name_(std::move(name)) {
  if (contents == Contents::poison) set_poison(begin_, bytes);
}

std::string GlobalBuffer::description() const {
  return fmt::format("buffer {}{}of {} bytes", name_, name_.empty() ? "" : " ", end_ - begin_);
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

void GlobalBuffer::set_written(std::uint64_t address, std::size_t bytes) {
  if (!written_) return;
  if (bytes == end_ - begin_) return written_.reset();
  written_->set(offset_of(address), bytes, true);
}

void GlobalBuffer::set_poison(std::uint64_t address, std::size_t bytes) {
  const bool was_written = is_written();
  const bool is_all = bytes == end_ - begin_;
  if (is_all || was_written) written_.emplace(end_ - origin_);
  if (is_all) return;
  if (was_written) written_->set(begin_ - origin_, end_ - begin_, true);
  written_->set(offset_of(address), bytes, false);
}

void GlobalBuffer::set_as(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
                          std::size_t bytes) {
  if (from.is_written()) return set_written(address, bytes);
  std::vector<std::pair<std::size_t, std::size_t>> written;  // before the range is poisoned, which
                                                             // may be part of `from`
  from.for_written([&](std::size_t first, std::size_t end) {
    const std::size_t begin = at - from.begin_;
    first = std::max(first, begin);
    end = std::min(end, begin + bytes);
    if (first < end) written.emplace_back(first - begin, end - begin);
  });
  set_poison(address, bytes);
  for (const auto& [first, end] : written)
    set_written(address + first, end - first);
}

void GlobalBuffer::settle() {
  if (!written_) return;
  std::size_t whole = 0;
  for_written([&](std::size_t first, std::size_t end) { whole += end - first; });
  if (whole == end_ - begin_) written_.reset();
}

void GlobalMemory::add(void* begin, std::size_t bytes, std::string name, Contents contents) {
  GlobalBuffer buffer(address_of(begin), bytes, std::move(name), contents);
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
      buffer.set_written(address, part);
      buffer.note_store();
    });
  }
}

void GlobalMemory::note_copy(const void* to, const void* from, std::size_t bytes) {
  GlobalBuffer* const target = find(address_of(to), bytes);
  const GlobalBuffer* const source = find(address_of(from), bytes);
  if (!target || !source) return note_fill(to, bytes);
  target->note_store();
  target->set_as(address_of(to), *source, address_of(from), bytes);
}

void GlobalMemory::fill_later(const HostLoop& loop) {
  const auto bytes = static_cast<std::size_t>(loop.items * loop.item_bytes);
  GlobalBuffer* const buffer = find(address_of(loop.to), bytes);
  if (!buffer) return loop.run(0, loop.items);
  note_fill(loop.to, bytes);
  buffer->make_all(1);
  buffer->fill_later(loop);
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

bool GlobalMemory::holds(const MemoryAccess& access) const {
  const AccessShape& shape = access.shape;
  if (!shape.is_aligned) return false;
  for (const GlobalBuffer& buffer : buffers_) {
    if (!buffer.has(shape.first, shape.last - shape.first + access.width)) continue;
    if (!buffer.is_made())
      for_each_lane(access.lanes,
                    [&](unsigned l) { buffer.make(access.address[l], access.width); });
    return true;
  }
  return false;
}

std::string GlobalMemory::describe_outside(std::uint64_t address, std::size_t bytes) const {
  std::string text = fmt::format("{} bytes at {:#x} are in no buffer", bytes, address);
  const GlobalBuffer* nearest = nullptr;
  std::uint64_t least = 0;
  // How far the access reaches out of the buffer.
  const auto distance = [&](const GlobalBuffer& buffer) {
    return address < buffer.begin() ? buffer.begin() - address : address + bytes - buffer.end();
  };
  for (const GlobalBuffer& buffer : buffers_) {
    if (nearest && distance(buffer) >= least) continue;
    nearest = &buffer;
    least = distance(buffer);
  }
  if (!nearest) return text;
  if (address < nearest->begin())
    return fmt::format("{}: they begin {} bytes before {}", text, least, nearest->description());
  return fmt::format("{}: they end {} bytes behind the end of {}", text, least,
                     nearest->description());
}

}  // namespace gpuexp::sim
