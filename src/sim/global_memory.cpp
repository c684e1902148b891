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

std::string GlobalBuffer::description() const {
  return fmt::format("buffer {}{}of {} bytes", name_, name_.empty() ? "" : " ", end_ - begin_);
}

bool GlobalBuffer::is_written(std::uint64_t address, std::size_t bytes) const {
  if (!marks_) return true;
  const std::byte* const marks = marks_at(address);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (std::atomic_ref<std::byte>(const_cast<std::byte&>(marks[i]))
            .load(std::memory_order_relaxed) != kMark)
      return false;
  }
  return true;
}

void GlobalBuffer::mark(std::uint64_t address, std::size_t bytes) {
  if (!marks_) return;
  constexpr std::uint64_t kMarks = 0x0101010101010101;
  std::byte* const marks = marks_at(address);
  switch (bytes) {
    case 1: return store(marks, static_cast<std::uint8_t>(kMarks));
    case 2: return store(marks, static_cast<std::uint16_t>(kMarks));
    case 4: return store(marks, static_cast<std::uint32_t>(kMarks));
    case 16: store(marks + 8, kMarks); [[fallthrough]];
    default: return store(marks, kMarks);
  }
}

void GlobalBuffer::set_written(std::uint64_t address, std::size_t bytes) {
  if (!marks_) return;
  std::memset(marks_at(address), static_cast<int>(kMark), bytes);
  if (bytes == end_ - begin_) marks_.reset();
}

void GlobalBuffer::set_poison(std::uint64_t address, std::size_t bytes) {
  if (!marks_) {
    const std::size_t size = (end_ - origin_ + kWidestAccess - 1) / kWidestAccess * kWidestAccess;
    marks_ = std::make_unique<std::byte[]>(size);
    std::memset(marks_.get(), static_cast<int>(kMark), size);
  }
  std::memset(marks_at(address), 0, bytes);
}

void GlobalBuffer::set_as(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
                          std::size_t bytes) {
  if (from.is_written()) return set_written(address, bytes);
  if (!marks_) set_poison(address, bytes);
  std::memmove(marks_at(address), from.marks_at(at), bytes);
}

void GlobalBuffer::settle() {
  if (marks_ && std::memchr(marks_at(begin_), 0, end_ - begin_) == nullptr) marks_.reset();
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
    });
  }
}

void GlobalMemory::note_copy(const void* to, const void* from, std::size_t bytes) {
  GlobalBuffer* const target = find(address_of(to), bytes);
  const GlobalBuffer* const source = find(address_of(from), bytes);
  if (!target || !source) return note_fill(to, bytes);
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
