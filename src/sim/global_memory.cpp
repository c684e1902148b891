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

GlobalBuffer::GlobalBuffer(std::uint64_t begin, std::size_t bytes, std::string name,
                           Contents contents)
    : begin_(begin),
      end_(begin + bytes),
      origin_(begin & ~(kWidestAccess - 1)),
      name_(std::move(name)) {
  if (contents == Contents::poison) set_poison(begin_, bytes);
}

GlobalBuffer::GlobalBuffer(GlobalBuffer&& other) noexcept
    : begin_(other.begin_),
      end_(other.end_),
      origin_(other.origin_),
      name_(std::move(other.name_)),
      pages_(std::exchange(other.pages_, {})),
      stored_(other.is_stored_to()) {}

GlobalBuffer& GlobalBuffer::operator=(GlobalBuffer&& other) noexcept {
  begin_ = other.begin_;
  end_ = other.end_;
  origin_ = other.origin_;
  std::swap(name_, other.name_);
  std::swap(pages_, other.pages_);
  stored_ = other.is_stored_to();
  return *this;
}

GlobalBuffer::~GlobalBuffer() {
  release();
}

std::string GlobalBuffer::description() const {
  return fmt::format("buffer {}{}of {} bytes", name_, name_.empty() ? "" : " ", end_ - begin_);
}

void GlobalBuffer::release() {
  for (const Page& page : pages_)
    delete[] page.load();
  pages_.clear();
}

std::byte* GlobalBuffer::page_at(std::size_t offset) {
  Page& page = pages_[offset / kPageBytes];
  std::byte* there = page.load(std::memory_order_acquire);
  if (there) return there;
  auto made = std::make_unique<std::byte[]>(kPageBytes);
  if (page.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel))
    there = made.release();
  return there;
}

// Calls function(page, first, count) for the parts of the pages that hold the range's marks.
template <class Function>
void GlobalBuffer::for_pages(std::uint64_t address, std::size_t bytes,
                             const Function& function) const {
  const std::size_t end = offset_of(address) + bytes;
  for (std::size_t at = offset_of(address); at < end;) {
    const std::size_t first = at % kPageBytes;
    const std::size_t count = std::min(kPageBytes - first, end - at);
    function(at, first, count);
    at += count;
  }
}

bool GlobalBuffer::is_written(std::uint64_t address, std::size_t bytes) const {
  if (is_written()) return true;
  const std::size_t offset = offset_of(address);
  std::byte* const page = pages_[offset / kPageBytes].load(std::memory_order_acquire);
  if (!page) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (std::atomic_ref<std::byte>(page[offset % kPageBytes + i]).load(std::memory_order_relaxed) !=
        kMark)
      return false;
  }
  return true;
}

void GlobalBuffer::for_written(
    const std::function<void(std::size_t first, std::size_t end)>& range) const {
  if (is_written()) return range(0, end_ - begin_);
  std::size_t first = 0;
  std::size_t end = 0;  // of what has been found and not told yet
  const auto add = [&](std::size_t from, std::size_t to) {
    if (from != end) {
      if (first < end) range(first, end);
      first = from;
    }
    end = to;
  };
  for_pages(begin_, end_ - begin_, [&](std::size_t at, std::size_t in_page, std::size_t count) {
    const std::byte* const page = pages_[at / kPageBytes].load();
    if (!page) return;
    const std::size_t base = at - in_page + origin_ - begin_;  // of the page, in the buffer
    const std::byte* const stop = page + in_page + count;
    for (const std::byte* i = page + in_page; i < stop;) {
      const std::byte* const marked = std::find(i, stop, kMark);
      const std::byte* const unmarked = std::find(marked, stop, std::byte{0});
      if (marked < unmarked)
        add(base + static_cast<std::size_t>(marked - page),
            base + static_cast<std::size_t>(unmarked - page));
      i = unmarked;
    }
  });
  if (first < end) range(first, end);
}

void GlobalBuffer::mark(std::uint64_t address, std::size_t bytes) {
  if (is_written()) return;
  constexpr std::uint64_t kMarks = 0x0101010101010101;
  const std::size_t offset = offset_of(address);
  std::byte* const marks = page_at(offset) + offset % kPageBytes;
  switch (bytes) {
    case 1: return store(marks, static_cast<std::uint8_t>(kMarks));
    case 2: return store(marks, static_cast<std::uint16_t>(kMarks));
    case 4: return store(marks, static_cast<std::uint32_t>(kMarks));
    case 16: store(marks + 8, kMarks); [[fallthrough]];
    default: return store(marks, kMarks);
  }
}

void GlobalBuffer::set_written(std::uint64_t address, std::size_t bytes) {
  if (is_written()) return;
  if (bytes == end_ - begin_) return release();
  for_pages(address, bytes, [&](std::size_t at, std::size_t first, std::size_t count) {
    std::memset(page_at(at) + first, static_cast<int>(kMark), count);
  });
}

void GlobalBuffer::set_poison(std::uint64_t address, std::size_t bytes) {
  const std::size_t pages = (offset_of(end_) + kPageBytes - 1) / kPageBytes;
  if (bytes == end_ - begin_) {
    release();
    pages_ = std::vector<Page>(pages);
    return;
  }
  if (is_written()) {
    pages_ = std::vector<Page>(pages);
    for_pages(begin_, end_ - begin_, [&](std::size_t at, std::size_t first, std::size_t count) {
      std::memset(page_at(at) + first, static_cast<int>(kMark), count);
    });
  }
  for_pages(address, bytes, [&](std::size_t at, std::size_t first, std::size_t count) {
    std::memset(page_at(at) + first, 0, count);
  });
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
  if (is_written()) return;
  bool is_full = true;
  for_pages(begin_, end_ - begin_, [&](std::size_t at, std::size_t first, std::size_t count) {
    if (!is_full) return;
    const std::byte* const page = pages_[at / kPageBytes].load();
    is_full = page && std::memchr(page + first, 0, count) == nullptr;
  });
  if (is_full) release();
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
    if (buffer.has(address, bytes)) return reinterpret_cast<std::byte*>(address);
  }
  throw Fault(FaultKind::out_of_bounds, describe_outside(address, bytes), address);
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
