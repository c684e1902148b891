// Global memory: buffers of this process's own memory, under their own addresses, and which of
// their bytes have been written.
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
  written,  ///< by the host, all of it
  poison,   ///< to be written before it is read
};

/// A mark for each byte of a range, so that threads need not share one, in pages that are there
/// once a byte of theirs is marked: of a large buffer of which little is touched they take little.
/// Threads may mark bytes and ask for them at the same time.
class ByteMarks {
 public:
  ByteMarks() = default;
  /// None of so many bytes is marked.
  explicit ByteMarks(std::size_t bytes);
  ByteMarks(ByteMarks&& other) noexcept;
  ByteMarks& operator=(ByteMarks&& other) noexcept;
  ~ByteMarks();

  bool is_marked(std::size_t offset, std::size_t bytes) const;
  /// `bytes` is 1, 2, 4, 8 or 16, and divides the offset.
  void mark(std::size_t offset, std::size_t bytes);
  /// Any range.
  void set(std::size_t offset, std::size_t bytes, bool is_marked);
  /// Calls range(first, end) for each longest range of marked bytes in [begin, end).
  void for_marked(std::size_t begin, std::size_t end,
                  const std::function<void(std::size_t first, std::size_t end)>& range) const;

 private:
  using Page = std::atomic<std::byte*>;
  static constexpr std::size_t kPageBytes = std::size_t{16} << 10;

  /// The page with this mark; one that was not there has none set.
  std::byte* page_at(std::size_t offset);

  std::vector<Page> pages_;
};

/// An atomic flag that moves with what it is part of, while no kernel runs.
struct Flag : std::atomic<bool> {
  Flag() : std::atomic<bool>(false) {}
  Flag(Flag&& other) noexcept : std::atomic<bool>(other.load()) {}
  Flag& operator=(Flag&& other) noexcept {
    store(other.load());
    return *this;
  }
};

/// One buffer. Threads of the simulator may mark bytes and ask for them at the same time.
class GlobalBuffer {
 public:
  GlobalBuffer(std::uint64_t begin, std::size_t bytes, std::string name, Contents contents);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  bool has(std::uint64_t address, std::size_t bytes) const {
    return address >= begin_ && address <= end_ && bytes <= end_ - address;
  }
  const std::string& name() const { return name_; }
  /// "buffer y of 4000 bytes"
  std::string description() const;

  /// All of it: then no byte needs to be looked up.
  bool is_written() const { return !written_; }
  bool is_written(std::uint64_t address, std::size_t bytes) const;
  /// Calls range(first, end) for each longest range of offsets in the buffer that are written.
  void for_written(const std::function<void(std::size_t first, std::size_t end)>& range) const;
  /// A kernel stores. `bytes` is 1, 2, 4, 8 or 16, and divides the address.
  void mark(std::uint64_t address, std::size_t bytes);
  /// Any range of it.
  void mark_range(std::uint64_t address, std::size_t bytes);
  /// Of the marks of `from`, as they are, where a copy took its bytes. A buffer that is written as
  /// a whole stays so: others may read meanwhile that it has no marks.
  void mark_as(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at,
               std::size_t bytes);
  /// Any range of it, while no kernel runs.
  void set_written(std::uint64_t address, std::size_t bytes);
  void set_poison(std::uint64_t address, std::size_t bytes);
  /// As mark_as(), while no kernel runs.
  void set_as(std::uint64_t address, const GlobalBuffer& from, std::uint64_t at, std::size_t bytes);
  /// Forgets the marks where all bytes have one. While no kernel runs.
  void settle();

  /// What the fill writes is made when it is first asked for with make(); until then it counts as
  /// written all the same. The buffer holds all of it. While no kernel runs.
  void fill_later(std::unique_ptr<LateFill> fill) {
    leave(fill->range());
    late_fills_.push_back(std::move(fill));
  }
  void make(std::uint64_t address, std::size_t bytes) const {
    for (const auto& fill : late_fills_)
      fill->make(address, bytes);
  }
  bool is_made() const { return late_fills_.empty(); }
  /// No more is to be made of it then.
  void make_all(unsigned threads) {
    for (const auto& fill : late_fills_)
      fill->make_all(threads);
    late_fills_.clear();
  }
  /// The range is about to be written as a whole: nothing is made there any more.
  void leave(const AddressRange& range) {
    std::erase_if(late_fills_, [&](const auto& fill) { return range.has(fill->range()); });
    for (const auto& fill : late_fills_)
      fill->leave(range);
  }
  /// The range is about to be written: what reads it is never made.
  void leave_readers(const AddressRange& range) {
    std::erase_if(late_fills_, [&](const auto& fill) { return fill->reads_from(range); });
  }
  /// Makes what reads the range: it is about to be written.
  void make_readers(const AddressRange& range) const {
    for (const auto& fill : late_fills_) {
      if (fill->reads_from(range)) fill->make_all(1);
    }
  }

  /// No kernel stores to it: what is copied from it may be made later.
  bool is_constant() const { return is_constant_; }
  void set_constant() { is_constant_ = true; }

  /// Whether something has stored to it, since this was last forgotten.
  bool is_stored_to() const { return stored_.load(std::memory_order_relaxed); }
  void note_store() {
    if (!is_stored_to()) stored_.store(true, std::memory_order_relaxed);
  }
  void forget_stores() { stored_.store(false, std::memory_order_relaxed); }

  /// From now on, where kernels store is kept, whatever was written before; or no more.
  void follow_stores(bool follow) {
    stores_.reset();
    if (follow) stores_.emplace(end_ - origin_);
  }
  bool follows_stores() const { return stores_.has_value(); }
  void for_stored(const std::function<void(std::size_t first, std::size_t end)>& range) const;

 private:
  /// What of the range is written, from its begin on: first bytes and ends.
  std::vector<std::pair<std::size_t, std::size_t>> written_of(std::uint64_t address,
                                                              std::size_t bytes) const;
  /// Counted from origin_.
  std::size_t offset_of(std::uint64_t address) const { return address - origin_; }
  void for_marked(const ByteMarks& marks,
                  const std::function<void(std::size_t first, std::size_t end)>& range) const;

  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t origin_;  ///< of the marks: a multiple of 16
  std::string name_;
  std::optional<ByteMarks> written_;  ///< none: all bytes are
  std::optional<ByteMarks> stores_;
  std::vector<std::unique_ptr<LateFill>> late_fills_;  ///< of ranges; none: all is there
  bool is_constant_ = false;
  Flag stored_;
};

class GlobalMemory {
 public:
  void add(void* begin, std::size_t bytes, std::string name = {},
           Contents contents = Contents::written);
  void remove(const void* begin);
  void clear() { buffers_.clear(); }
  /// The bytes are there, but not to be read before they are written.
  void poison(const void* begin, std::size_t bytes);
  /// Fills and copies of the host or of a step: they write, and count as stores.
  void note_fill(const void* to, std::size_t bytes);
  void note_copy(const void* to, const void* from, std::size_t bytes);
  /// To be called between kernels: later ones need not look bytes up in buffers that are full.
  void settle();
  /// From now on, or no more: other threads execute kernels in this memory while one fills and
  /// copies. All is made then at once, and no buffer comes or goes, nor its marks as a whole.
  void set_shared(bool is_shared) { is_shared_ = is_shared; }
  bool is_shared() const { return is_shared_; }
  /// Of stores, to threads that execute other kernels meanwhile.
  StoreSignal& signal() { return *signal_; }

  /// Whether contents that are still to be made from a range are left unmade once that is about to
  /// be written as a whole: for kernels that neither read them nor go by them. Else they are made
  /// then.
  void set_leaves_overwritten(bool leaves) { leaves_overwritten_ = leaves; }

  /// Kernels do not store to the buffer that begins there.
  void set_constant(const void* begin);
  /// Contents that are made where somebody asks for them: kernels by at(), the host by make().
  /// `arguments` are those of the kernel that the loop stands for: it reads the buffers that their
  /// addresses lead to, but for the one it writes to. False where it has to be run at once: it
  /// writes outside of every buffer, or what it reads kernels may change before. So many items are
  /// made at a time.
  bool fill_later(const HostLoop& loop, std::span<const std::byte> arguments = {},
                  std::int64_t part_items = LateFill::kPartItems);
  /// Fills and copies of bytes, likewise where they are large.
  void set(void* to, unsigned char value, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);
  /// So that the host may read a range, or all there is.
  void make(const void* begin, std::size_t bytes) const;
  void make_all(unsigned threads);

  /// Where `bytes` at `address` lie. Throws Fault outside of every buffer.
  std::byte* at(std::uint64_t address, std::size_t bytes) const;
  /// Whether the lanes' bytes lie in one buffer, each at a multiple of their number; they are made
  /// then.
  bool holds(const MemoryAccess& access) const;
  /// The buffer that holds them all; null where none does.
  GlobalBuffer* find(std::uint64_t address, std::size_t bytes);
  GlobalBuffer* find(const void* begin) { return find(reinterpret_cast<std::uint64_t>(begin), 0); }
  /// What to say of an access outside of every buffer.
  std::string describe_outside(std::uint64_t address, std::size_t bytes) const;

 private:
  /// False where it writes outside of every buffer.
  bool fill_from(std::vector<AddressRange> reads, HostLoop loop,
                 std::int64_t part_items = LateFill::kPartItems);
  /// The range is about to be written as a whole, while no kernel runs.
  void prepare_to_write(const AddressRange& range);

  std::vector<GlobalBuffer> buffers_;  ///< by address
  bool is_shared_ = false;
  std::unique_ptr<StoreSignal> signal_ = std::make_unique<StoreSignal>();
  bool leaves_overwritten_ = false;
};

}  // namespace gpuexp::sim
