// Global memory: buffers at their host addresses in this process, and a record of written bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/fault.hpp"
#include "sim/late_fill.hpp"
#include "sim/memory_access.hpp"
#include "sim/store_signal.hpp"

namespace gpuexp::sim {

enum class Contents : std::uint8_t {
  written,  ///< the host has written all bytes of the buffer
  poison,   ///< kernels must write bytes before they read them
};

/// One mark per byte of a range. Threads may mark and test bytes concurrently. A page of marks is
/// allocated when its first byte is marked, to save memory.
class ByteMarks {
 public:
  ByteMarks() = default;
  explicit ByteMarks(std::size_t bytes);
  ByteMarks(ByteMarks&& other) noexcept;
  ByteMarks& operator=(ByteMarks&& other) noexcept;
  ~ByteMarks();

  bool is_marked(std::size_t offset, std::size_t bytes) const;
  /// Sets marks of an aligned access: `bytes` is 1, 2, 4, 8 or 16, and `offset` a multiple of
  /// `bytes`.
  void mark(std::size_t offset, std::size_t bytes);
  /// Sets or clears the marks of all bytes in [offset, offset + bytes), of any size and alignment.
  void set(std::size_t offset, std::size_t bytes, bool is_marked);
  /// Calls range(first, end) for each maximal range of marked bytes in [begin, end).
  void for_marked(std::size_t begin, std::size_t end,
                  const std::function<void(std::size_t first, std::size_t end)>& range) const;

 private:
  using Page = std::atomic<std::byte*>;
  static constexpr std::size_t kPageBytes = std::size_t{16} << 10;

  /// The page of the mark at this offset. Allocates a missing page with no marks set.
  std::byte* page_at(std::size_t offset);

  std::vector<Page> pages_;
};

struct Flag : std::atomic<bool> {
  Flag() : std::atomic<bool>(false) {}
  Flag(Flag&& other) noexcept : std::atomic<bool>(other.load()) {}
  Flag& operator=(Flag&& other) noexcept {
    store(other.load());
    return *this;
  }
};

class GlobalBuffer {
 public:
  /// `element_bytes`: size of an element, for messages; 0: unknown.
  GlobalBuffer(std::uint64_t begin, std::size_t bytes, std::string name, Contents contents,
               std::size_t element_bytes);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  bool has(std::uint64_t address, std::size_t bytes) const {
    return address >= begin_ && address <= end_ && bytes <= end_ - address;
  }
  const std::string& name() const { return name_; }
  /// "buffer y of 4000 bytes"; also describes a constant that the compiler made.
  std::string description() const;
  /// "element 7 of buffer y of 4000 bytes"; "byte 30 of …" within an element.
  std::string description_of(std::uint64_t address) const;

  /// Whether all bytes of the buffer are written, so that no byte needs a test.
  bool is_written() const { return !written_; }
  bool is_written(std::uint64_t address, std::size_t bytes) const;
  /// Calls range(first, end) for each maximal range of written bytes, as offsets in the buffer.
  void for_written(const std::function<void(std::size_t first, std::size_t end)>& range) const;
  /// Marks stored bytes as written: 1, 2, 4, 8 or 16 bytes, aligned to their number.
  void mark(std::uint64_t address, std::size_t bytes);
  /// Marks a range of any size and alignment as written.
  void mark_range(std::uint64_t address, std::size_t bytes);
  /// Copies the marks of the range at `at` in `from` to the range at `address` in this buffer. A
  /// buffer whose bytes are all written stays so, because other threads may rely on that.
  void copy_marks_concurrently(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
                               std::size_t bytes);
  /// Mark a range of any size as written or unwritten. Call these while no kernel runs.
  void set_written(std::uint64_t address, std::size_t bytes);
  void set_poison(std::uint64_t address, std::size_t bytes);
  /// Like copy_marks_concurrently(), but may create or drop this buffer's set of marks. Call it
  /// while no kernel runs.
  void copy_marks(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
                  std::size_t bytes);
  /// Drops the set of marks if all bytes are written. Call it while no kernel runs.
  void settle();

  /// Registers a fill whose data is generated when make() first needs it. The fill's range must be
  /// inside the buffer and already be marked as written. Call it while no kernel runs.
  void defer_fill(std::unique_ptr<LateFill> fill) {
    leave(fill->range());
    late_fills_.push_back(std::move(fill));
  }
  void make(std::uint64_t address, std::size_t bytes) const {
    for (const auto& fill : late_fills_)
      fill->make(address, bytes);
  }
  bool is_made() const { return late_fills_.empty(); }
  void make_all(unsigned threads) {
    for (const auto& fill : late_fills_)
      fill->make_all(threads);
    late_fills_.clear();
  }
  /// Cancels pending data in a range that is about to be overwritten completely.
  void leave(const AddressRange& range) {
    std::erase_if(late_fills_, [&](const auto& fill) { return range.has(fill->range()); });
    for (const auto& fill : late_fills_)
      fill->leave(range);
  }
  void cancel_readers(const AddressRange& range) {
    std::erase_if(late_fills_, [&](const auto& fill) { return fill->reads_from(range); });
  }
  void make_readers(const AddressRange& range) const {
    for (const auto& fill : late_fills_) {
      if (fill->reads_from(range)) fill->make_all(1);
    }
  }

  /// Whether no kernel stores to the buffer, so that copies from it may be deferred.
  bool is_constant() const { return is_constant_; }
  void set_constant() { is_constant_ = true; }

  /// Whether the buffer has been stored to since the last forget_stores().
  bool is_stored_to() const { return stored_.load(std::memory_order_relaxed); }
  void note_store() {
    if (!is_stored_to()) stored_.store(true, std::memory_order_relaxed);
  }
  void forget_stores() { stored_.store(false, std::memory_order_relaxed); }

  /// If `follow`, starts a new record of the bytes that kernels store, without atomics; otherwise
  /// drops the record.
  void follow_stores(bool follow) {
    stores_.reset();
    if (follow) stores_.emplace(end_ - origin_);
  }
  bool follows_stores() const { return stores_.has_value(); }
  void for_stored(const std::function<void(std::size_t first, std::size_t end)>& range) const;

 private:
  /// The written ranges within a range: first byte and end, relative to the range's start.
  std::vector<std::pair<std::size_t, std::size_t>> written_of(std::uint64_t address,
                                                              std::size_t bytes) const;
  std::size_t offset_of(std::uint64_t address) const { return address - origin_; }
  void for_marked(const ByteMarks& marks,
                  const std::function<void(std::size_t first, std::size_t end)>& range) const;

  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t origin_;  ///< address of the first mark: a multiple of 16
  std::string name_;
  std::size_t element_bytes_;
  std::optional<ByteMarks> written_;  ///< none: all bytes are written
  std::optional<ByteMarks> stores_;
  std::vector<std::unique_ptr<LateFill>> late_fills_;
  bool is_constant_ = false;
  Flag stored_;
};

class GlobalMemory {
 public:
  /// `element_bytes`: size of an element, for messages; 0: unknown.
  void add(void* begin, std::size_t bytes, std::string name = {},
           Contents contents = Contents::written, std::size_t element_bytes = 0);
  void remove(const void* begin);
  void clear() { buffers_.clear(); }
  /// Marks bytes as unwritten: a kernel must write them before it reads them.
  void poison(const void* begin, std::size_t bytes);
  /// Record that the host or a step has filled or copied bytes. Filled bytes count as written;
  /// copied bytes get the marks of their source.
  void note_fill(const void* to, std::size_t bytes);
  void note_copy(const void* to, const void* from, std::size_t bytes);
  /// Drops the marks of fully written buffers, to make later tests faster. Call it between kernels.
  void settle();
  /// Sets whether other threads execute kernels in this memory while this thread fills and copies.
  /// If so, set() and copy() write data immediately, and buffers keep their sets of marks.
  void set_shared(bool is_shared) { is_shared_ = is_shared; }
  bool is_shared() const { return is_shared_; }
  /// Signals stores to host threads that execute other kernels concurrently.
  StoreSignal& signal() { return *signal_; }

  /// Sets whether overwriting a range cancels the fills that read the range, instead of completing
  /// them. Kernels must then neither read the filled data nor depend on it.
  void set_cancels_overwritten(bool leaves) { leaves_overwritten_ = leaves; }

  /// Declares that no kernel stores to the buffer that starts at `begin`.
  void set_constant(const void* begin);
  /// Defers a loop until kernels, in at() or holds(), or the host, in make(), need its items.
  /// `arguments` are the arguments of the kernel that the loop replaces; their addresses name the
  /// buffers that the loop reads. `part_items` is the number of items to generate at a time.
  /// Returns false if the loop must run immediately: it writes outside of every buffer, or kernels
  /// may change its inputs.
  bool defer_fill(const HostLoop& loop, std::span<const std::byte> arguments = {},
                  std::int64_t part_items = LateFill::kPartItems);
  /// Fills or copies bytes. Unless the memory is shared, defers fills, and copies from constant
  /// buffers, of at least 64 KiB.
  void set(void* to, unsigned char value, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);
  /// Generates pending data of a range or of all buffers, so that the host may read it.
  void make(const void* begin, std::size_t bytes) const;
  void make_all(unsigned threads);

  /// Host address of `bytes` bytes at `address`, whose pending data it generates. Throws Fault if
  /// no buffer contains them.
  std::byte* at(std::uint64_t address, std::size_t bytes) const;
  /// Whether one buffer contains the bytes of all lanes and all addresses are multiples of the
  /// width. If so, generates the pending data of these bytes.
  bool holds(const MemoryAccess& access) const;
  GlobalBuffer* find(std::uint64_t address, std::size_t bytes);
  GlobalBuffer* find(const void* begin) { return find(reinterpret_cast<std::uint64_t>(begin), 0); }
  std::string describe_outside(std::uint64_t address, std::size_t bytes) const;
  /// For an access whose address is not a multiple of its `bytes`.
  std::string describe_misaligned(std::uint64_t address, std::size_t bytes) const;

 private:
  /// Returns false if the loop writes outside of every buffer.
  bool fill_from(std::vector<AddressRange> reads, HostLoop loop,
                 std::int64_t part_items = LateFill::kPartItems);
  /// Completes or cancels fills that write or read the range, before the whole range is
  /// overwritten.
  void prepare_to_write(const AddressRange& range);

  std::vector<GlobalBuffer> buffers_;
  bool is_shared_ = false;
  std::unique_ptr<StoreSignal> signal_ = std::make_unique<StoreSignal>();
  bool leaves_overwritten_ = false;
};

}  // namespace gpuexp::sim
