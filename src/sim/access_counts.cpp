#include "sim/access_counts.hpp"

#include <algorithm>
#include <array>

#include "sim/program.hpp"
#include "sim/tag_bank.hpp"

namespace gpuexp::sim {

namespace {

constexpr unsigned kSectorShift = 5;
constexpr unsigned kLineShift = 7;
constexpr unsigned kWordShift = 2;
constexpr unsigned kBanks = 32;

// Most distinct 4-byte words that the lanes touch in any of 32 banks.
unsigned most_words_of_a_bank(const Lanes64& address, LaneMask lanes, unsigned width) {
  const unsigned words = (width + 3) >> kWordShift;
  std::array<std::array<std::uint64_t, kLanes>, kBanks> in_bank;
  std::array<std::uint8_t, kBanks> count{};
  unsigned most = 0;
  std::uint64_t previous = ~std::uint64_t{0};
  for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t first = address[l] >> kWordShift;
    if (first == previous) return;
    previous = first;
    for (std::uint64_t word = first; word < first + words; ++word) {
      const auto bank = static_cast<unsigned>(word % kBanks);
      const auto end = in_bank[bank].begin() + count[bank];
      if (std::find(in_bank[bank].begin(), end, word) != end) continue;
      *end = word;
      most = std::max<unsigned>(most, ++count[bank]);
    }
  });
  return most;
}

/// What most accesses are, and what they come to without a look at each lane.
enum class Pattern {
  one,         ///< all lanes touch the same bytes
  contiguous,  ///< all 32 lanes do, lane i the bytes behind those of lane i - 1
  other
};

GPUEXP_VECTORIZED Pattern pattern_of(const Lanes64& address, LaneMask lanes, unsigned width) {
  if (lanes != kAllLanes) return Pattern::other;
  std::uint64_t not_one = 0;
  std::uint64_t not_contiguous = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    not_one |= address[l] ^ address[0];
    not_contiguous |= address[l] ^ (address[0] + l * width);
  }
  return not_one == 0 ? Pattern::one : not_contiguous == 0 ? Pattern::contiguous : Pattern::other;
}

// Units of 2^shift bytes that the lanes touch, each once, in ascending order.
class Touched {
 public:
  Touched(const Lanes64& address, LaneMask lanes, unsigned shift) {
    for_each_lane(lanes, [&](unsigned l) {
      const std::uint64_t unit = address[l] >> shift;
      if (size_ == 0 || units_[size_ - 1] != unit) units_[size_++] = unit;
    });
    if (!std::is_sorted(begin(), end())) std::sort(units_.begin(), units_.begin() + size_);
    size_ = static_cast<std::size_t>(std::unique(units_.begin(), units_.begin() + size_) -
                                     units_.begin());
  }
  const std::uint64_t* begin() const { return units_.data(); }
  const std::uint64_t* end() const { return units_.data() + size_; }
  std::size_t size() const { return size_; }

 private:
  std::array<std::uint64_t, kLanes> units_;
  std::size_t size_ = 0;
};

/// Of a global access.
struct Touches {
  std::uint64_t sectors = 0;
  unsigned tag_wavefronts = 0;
  unsigned bank_wavefronts = 0;
};

// The tag stage finds one line in each bank of the tags per wavefront.
class TagBanks {
 public:
  void add(std::uint64_t line) { most_ = std::max<unsigned>(most_, ++in_bank_[tag_bank(line)]); }
  unsigned wavefronts() const { return most_; }

 private:
  std::array<std::uint8_t, kTagBanks> in_bank_{};
  unsigned most_ = 0;
};

Touches touches_of_contiguous(std::uint64_t first, unsigned width) {
  const std::uint64_t last = first + kLanes * width - 1;
  TagBanks tags;
  for (std::uint64_t line = first >> kLineShift; line <= last >> kLineShift; ++line)
    tags.add(line);
  return {(last >> kSectorShift) - (first >> kSectorShift) + 1, tags.wavefronts(),
          std::max(1u, width >> kWordShift)};
}

Touches touches_of(const MemoryAccess& access) {
  switch (pattern_of(access.address, access.lanes, access.width)) {
    case Pattern::one: return {1, 1, 1};
    case Pattern::contiguous: return touches_of_contiguous(access.address[0], access.width);
    case Pattern::other: break;
  }
  const Touched sectors(access.address, access.lanes, kSectorShift);
  TagBanks tags;
  std::uint64_t previous = ~std::uint64_t{0};
  for (const std::uint64_t sector : sectors) {
    const std::uint64_t line = sector >> (kLineShift - kSectorShift);
    if (line != previous) tags.add(line);
    previous = line;
  }
  return {sectors.size(), tags.wavefronts(),
          most_words_of_a_bank(access.address, access.lanes, access.width)};
}

// Lanes i and i ^ 1, or lanes i and i ^ 2, have one address throughout the warp.
bool are_paired(const Lanes64& address) {
  const auto paired_by = [&](unsigned bit) {
    bool is = true;
    for (unsigned l = 0; l < kLanes; ++l)
      is &= address[l] == address[l ^ bit];
    return is;
  };
  return paired_by(1) || paired_by(2);
}

struct Wavefronts {
  unsigned all = 0;
  unsigned conflicts = 0;
};

inline unsigned step_of(const MemoryAccess& access) {
  constexpr unsigned kTurnBytes = kBanks << kWordShift;
  const unsigned pairing = access.width > 4 && are_paired(access.address) ? 2 : 1;
  return std::min(kLanes, pairing * kTurnBytes / access.width);
}

Wavefronts shared_wavefronts_of(const MemoryAccess& access) {
  const Pattern pattern = pattern_of(access.address, access.lanes, access.width);
  if (pattern == Pattern::contiguous) return {std::max(1u, access.width >> kWordShift), 0};
  if (pattern == Pattern::one) return {access.width > 8 ? 2u : 1u, 0};
  const unsigned step = step_of(access);
  Wavefronts wavefronts;
  for (unsigned begin = 0; begin < kLanes; begin += step) {
    const LaneMask turn = access.lanes & (step == kLanes ? kAllLanes : ((1u << step) - 1) << begin);
    if (turn == 0) continue;
    const unsigned needed = most_words_of_a_bank(access.address, turn, access.width);
    wavefronts.all += needed;
    wavefronts.conflicts += needed - 1;
  }
  return wavefronts;
}

// Data that L1 does not hold takes a wavefront of the data stage for each one of the tag stage, if
// that is more than the banks ask for.
void count_global(MemoryCounts& counts, const MemoryAccess& access) {
  const Touches touches = touches_of(access);
  if (access.kind == Access::store) {
    ++counts.store_requests;
    counts.store_sectors += touches.sectors;
  } else {
    ++counts.load_requests;
    counts.load_sectors += touches.sectors;
  }
  if (access.kind == Access::async_load) {
    counts.async_tag_wavefronts += touches.tag_wavefronts;
    return;
  }
  counts.tag_wavefronts += touches.tag_wavefronts;
  counts.global_wavefronts += std::max(touches.bank_wavefronts, touches.tag_wavefronts);
}

// What cp.async copies is written as it arrives, which counts as one wavefront, of no store, and
// one more for each in which lanes meet in a bank.
void count_shared(MemoryCounts& counts, const MemoryAccess& access) {
  const Wavefronts wavefronts = shared_wavefronts_of(access);
  counts.shared_conflicts += wavefronts.conflicts;
  switch (access.kind) {
    case Access::load: counts.shared_load_wavefronts += wavefronts.all; break;
    case Access::async_store: counts.global_wavefronts += 1 + wavefronts.conflicts; break;
    default: counts.shared_store_wavefronts += wavefronts.all; break;
  }
}

}  // namespace

MemoryCounts& MemoryCounts::operator+=(const MemoryCounts& more) {
  for (const Count count : kAll)
    this->*count += more.*count;
  return *this;
}

GlobalTouch touch_of(const MemoryAccess& access) {
  GlobalTouch touch;
  const Touches touches = touches_of(access);
  touch.tag_wavefronts = touches.tag_wavefronts;
  touch.bank_wavefronts = touches.bank_wavefronts;
  const Touched sectors(access.address, access.lanes, kSectorShift);
  for (const std::uint64_t sector : sectors)
    touch.sectors[touch.count++] = sector;
  return touch;
}

unsigned shared_wavefronts(const MemoryAccess& access) {
  return shared_wavefronts_of(access).all;
}

unsigned lanes_per_turn(const MemoryAccess& access) {
  return step_of(access);
}

void count(MemoryCounts& counts, const MemoryAccess& access) {
  if (access.lanes == 0) return;
  switch (access.kind) {
    // The copy engine and the tensor cores read past the LSU.
    case Access::bulk_load:
    case Access::bulk_store:
    case Access::matrix_load: return;
    default: break;
  }
  // Nsight Compute has metrics of their own for these (_mem_local_op_ld, _op_atom, _op_red).
  if (access.space == Space::local || access.space == Space::cluster ||
      access.kind == Access::atomic) {
    ++counts.other_accesses;
    counts.other_tag_accesses += access.space != Space::shared;
    return;
  }
  if (access.space == Space::global) return count_global(counts, access);
  count_shared(counts, access);
}

}  // namespace gpuexp::sim
