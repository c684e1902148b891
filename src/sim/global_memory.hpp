// Global memory: buffers of this process's own memory, under their own addresses, and which of
// their bytes have been written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/fault.hpp"

namespace gpuexp::sim {

enum class Contents : std::uint8_t {
  written,  ///< by the host, all of it
  poison,   ///< to be written before it is read
};

/// One buffer. Threads of the simulator may mark bytes and ask for them at the same time.
class GlobalBuffer {
 public:
  GlobalBuffer(std::uint64_t begin, std::size_t bytes, std::string name, Contents contents);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  bool has(std::uint64_t address, std::size_t bytes) const {
    return address >= begin_ && address + bytes <= end_;
  }
  const std::string& name() const { return name_; }
  /// "buffer y of 4000 bytes"
  std::string description() const;

  /// All of it: then no byte needs to be looked up.
  bool is_written() const { return !marks_; }
  bool is_written(std::uint64_t address, std::size_t bytes) const;
  /// `bytes` is 1, 2, 4, 8 or 16, and divides the address.
  void mark(std::uint64_t address, std::size_t bytes);
  /// Any range of it, while no kernel runs.
  void set_written(std::uint64_t address, std::size_t bytes);
  void set_poison(std::uint64_t address, std::size_t bytes);
  /// Of the marks of `from`, as they are, where a copy took its bytes. While no kernel runs.
  void set_as(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at, std::size_t bytes);
  /// Forgets the marks where all bytes have one. While no kernel runs.
  void settle();

 private:
  std::byte* marks_at(std::uint64_t address) const { return marks_.get() + (address - origin_); }

  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t origin_;  ///< of the marks: a multiple of 16, as are the marks' own addresses
  std::string name_;
  /// One per byte, so that threads need not share one; null: all bytes are written.
  std::unique_ptr<std::byte[]> marks_;
};

class GlobalMemory {
 public:
  void add(void* begin, std::size_t bytes, std::string name = {},
           Contents contents = Contents::written);
  void remove(const void* begin);
  void clear() { buffers_.clear(); }
  /// The bytes are there, but not to be read before they are written.
  void poison(const void* begin, std::size_t bytes);
  /// Fills and copies of the host or of a step.
  void note_fill(const void* to, std::size_t bytes);
  void note_copy(const void* to, const void* from, std::size_t bytes);
  /// To be called between kernels: later ones need not look bytes up in buffers that are full.
  void settle();

  /// Where `bytes` at `address` lie. Throws Fault outside of every buffer.
  std::byte* at(std::uint64_t address, std::size_t bytes) const;
  /// The buffer that holds them all; null where none does.
  GlobalBuffer* find(std::uint64_t address, std::size_t bytes);
  /// What to say of an access outside of every buffer.
  std::string describe_outside(std::uint64_t address, std::size_t bytes) const;

 private:
  std::vector<GlobalBuffer> buffers_;  ///< by address
};

}  // namespace gpuexp::sim
