#include "sim/access_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "sim/program.hpp"
#include "sim/tag_bank.hpp"

namespace gpuexp::sim {

namespace {

using Pattern = AccessShape::Pattern;

constexpr unsigned kSectorShift = 5;
constexpr unsigned kLineShift = 7;
constexpr unsigned kWordShift = 2;
constexpr unsigned kBanks = 32;
// Bytes of shared memory that one cp.async.cg wavefront serves.
constexpr unsigned kCopyGroupBytes = 512;

// Maximum over the 32 banks of the number of distinct 4-byte words that the lanes access.
unsigned max_words_in_bank(const Lanes64& address, LaneMask lanes, unsigned width) {
  const unsigned words = (width + 3) >> kWordShift;
  std::array<std::array<std::uint64_t, kLanes>, kBanks> in_bank;
  std::array<std::uint8_t, kBanks> count{};
  unsigned maximum = 0;
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
      maximum = std::max<unsigned>(maximum, ++count[bank]);
    }
  });
  return maximum;
}

// Numbers of the units of 2^shift bytes that the lanes access: ascending and distinct.
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

// The tag stage looks up one line in each tag bank per wavefront.
GPUEXP_VECTORIZED unsigned tag_wavefronts(std::uint64_t first, const Lanes64& lines,
                                          unsigned count) {
  constexpr unsigned kBits = 64 / kTagBanks;  // bits for the line count of one bank
  std::uint64_t in_banks = 0;
  for (unsigned i = 0; i < kLanes; ++i)
    in_banks += std::uint64_t{i < count} << kBits * tag_bank(first + lines[i]);
  unsigned maximum = 0;
  for (unsigned bank = 0; bank < kTagBanks; ++bank)
    maximum =
        std::max(maximum, static_cast<unsigned>(in_banks >> kBits * bank & ((1u << kBits) - 1)));
  return maximum;
}

GlobalCounts counts_of_contiguous(std::uint64_t first, unsigned width) {
  const std::uint64_t last = first + kLanes * width - 1;
  std::array<unsigned, kTagBanks> in_bank{};
  for (std::uint64_t line = first >> kLineShift; line <= last >> kLineShift; ++line)
    ++in_bank[tag_bank(line)];
  return {(last >> kSectorShift) - (first >> kSectorShift) + 1,
          *std::max_element(in_bank.begin(), in_bank.end()), std::max(1u, width >> kWordShift), 0};
}

// Whether lanes i and i ^ 1, or lanes i and i ^ 2, have equal addresses for all i.
bool are_paired(const Lanes64& address) {
  const auto paired_by = [&](unsigned bit) {
    bool is = true;
    for (unsigned l = 0; l < kLanes; ++l)
      is &= address[l] == address[l ^ bit];
    return is;
  };
  return paired_by(1) || paired_by(2);
}

inline unsigned step_of(const MemoryAccess& access) {
  constexpr unsigned kPassBytes = kBanks << kWordShift;
  const unsigned pairing = access.width > 4 && are_paired(access.address) ? 2 : 1;
  return std::min(kLanes, pairing * kPassBytes / access.width);
}

SharedWavefronts shared_wavefronts_of(const MemoryAccess& access) {
  const unsigned step = step_of(access);
  SharedWavefronts wavefronts;
  for (unsigned begin = 0; begin < kLanes; begin += step) {
    const LaneMask pass = access.lanes & (step == kLanes ? kAllLanes : ((1u << step) - 1) << begin);
    if (pass == 0) continue;
    const unsigned needed = max_words_in_bank(access.address, pass, access.width);
    wavefronts.all += needed;
    wavefronts.conflicts += needed - 1;
  }
  return wavefronts;
}

// A line of global memory that a copy reads, and the 128 bytes of shared memory that the copy
// writes.
struct CopiedLine {
  std::uint64_t line;
  std::uint64_t row;
  unsigned lines_of_row = 0;

  std::uint64_t group() const { return (row << kLineShift) / kCopyGroupBytes; }
};

std::vector<CopiedLine> copied_lines(const MemoryAccess& access) {
  std::vector<CopiedLine> copied;
  for_each_lane(access.lanes, [&](unsigned l) {
    const CopiedLine next{access.address[l] >> kLineShift, (*access.destination)[l] >> kLineShift};
    if (std::none_of(copied.begin(), copied.end(),
                     [&](const CopiedLine& c) { return c.line == next.line && c.row == next.row; }))
      copied.push_back(next);
  });
  for (CopiedLine& one : copied)
    one.lines_of_row = static_cast<unsigned>(std::count_if(
        copied.begin(), copied.end(), [&](const CopiedLine& c) { return c.row == one.row; }));
  return copied;
}

// Wavefronts that the destinations require in AccessMemo::tag_wavefronts_past_l1().
unsigned destination_wavefronts(const MemoryAccess& access) {
  constexpr unsigned kMaxLines = 4;
  struct Group {
    // By line: number of quarters of a wavefront that the line uses.
    std::map<std::uint64_t, unsigned> share;
    unsigned max_lines_of_row = 0;
  };
  std::map<std::uint64_t, Group> groups;
  for (const CopiedLine& one : copied_lines(access)) {
    Group& group = groups[one.group()];
    unsigned& share = group.share[one.line];
    share = std::max(share, std::min(one.lines_of_row, kMaxLines));
    group.max_lines_of_row = std::max(group.max_lines_of_row, one.lines_of_row);
  }
  unsigned wavefronts = 0;
  for (const auto& [place, group] : groups) {
    unsigned shares = 0;
    for (const auto& [line, share] : group.share)
      shares += share;
    wavefronts += std::max((shares + kMaxLines - 1) / kMaxLines, group.max_lines_of_row);
  }
  return wavefronts;
}

unsigned past_l1(const MemoryAccess& access) {
  return access.memo ? access.memo->tag_wavefronts_past_l1(access)
                     : AccessMemo().tag_wavefronts_past_l1(access);
}

// Data-stage wavefronts for lines that L1 does not hold. Lanes are processed in passes, as for
// shared memory. A pass takes the larger of two numbers: the tag-stage wavefronts that look up
// lines of its lanes, and the wavefronts that its banks require (docs/studies/caches/l1_hits.csv).
unsigned missed_wavefronts_of(const MemoryAccess& access, const GlobalCounts& counts) {
  const unsigned step = step_of(access);
  if (step == kLanes || counts.tag_wavefronts == 1)
    return std::max(counts.bank_wavefronts, counts.tag_wavefronts);
  const Touched lines(access.address, access.lanes, kLineShift);
  TagLookups tags;
  std::array<unsigned, kLanes> wavefront_of;
  for (std::size_t i = 0; i < lines.size(); ++i)
    wavefront_of[i] = tags.wavefront_of(lines.begin()[i]);
  unsigned wavefronts = 0;
  for (unsigned begin = 0; begin < kLanes; begin += step) {
    const LaneMask pass = access.lanes & ((1u << step) - 1) << begin;
    if (pass == 0) continue;
    LaneMask lookups = 0;
    for_each_lane(pass, [&](unsigned l) {
      const auto* line =
          std::lower_bound(lines.begin(), lines.end(), access.address[l] >> kLineShift);
      lookups |= 1u << wavefront_of[static_cast<std::size_t>(line - lines.begin())];
    });
    wavefronts += std::max(max_words_in_bank(access.address, pass, access.width),
                           static_cast<unsigned>(std::popcount(lookups)));
  }
  return wavefronts;
}

void count_global(MemoryCounts& counts, const MemoryAccess& access) {
  const GlobalCounts touches =
      access.memo ? access.memo->touches(access) : AccessMemo().touches(access);
  if (access.kind == Access::store) {
    ++counts.store_requests;
    counts.store_sectors += touches.sectors;
  } else {
    ++counts.load_requests;
    counts.load_sectors += touches.sectors;
  }
  if (access.kind == Access::async_load) {
    counts.async_tag_wavefronts +=
        1 + (access.destination ? past_l1(access) : touches.tag_wavefronts);
    return;
  }
  counts.tag_wavefronts += touches.tag_wavefronts;
  counts.global_wavefronts += access.kind == Access::store
                                  ? std::max(touches.bank_wavefronts, touches.tag_wavefronts)
                                  : touches.missed_wavefronts;
}

// Number of sectors that contain a word of an active lane.
std::uint64_t local_sectors(const MemoryAccess& access) {
  const unsigned words = local_words(access);
  if (access.shape.first == access.shape.last) {
    constexpr unsigned kLanesOfSector = (1u << kSectorShift) >> kWordShift;
    constexpr LaneMask kSector = (1u << kLanesOfSector) - 1;
    unsigned sectors = 0;
    for (unsigned first = 0; first < kLanes; first += kLanesOfSector)
      sectors += (access.lanes >> first & kSector) != 0;
    return words * sectors;
  }
  std::set<std::uint64_t> sectors;
  for (unsigned word = 0; word < words; ++word) {
    const Lanes64 at = interleaved_addresses(access, word);
    for_each_lane(access.lanes, [&](unsigned l) { sectors.insert(at[l] >> kSectorShift); });
  }
  return sectors.size();
}

// A line of local memory holds one word per lane, each in its own bank.
void count_local(MemoryCounts& counts, const MemoryAccess& access) {
  const bool is_store = access.kind == Access::store;
  ++(is_store ? counts.local_store_requests : counts.local_load_requests);
  (is_store ? counts.local_store_sectors : counts.local_load_sectors) += local_sectors(access);
  const unsigned words = local_words(access);
  const bool has_one_address = access.shape.first == access.shape.last;
  if (has_one_address)
    counts.global_wavefronts += words;
  else
    ++counts.other_accesses;
  if (has_one_address && words == 1)
    ++counts.tag_wavefronts;
  else
    ++counts.other_tag_accesses;
}

// When data of cp.async arrive, their write to shared memory counts as one global wavefront per
// request plus one per bank conflict, not as store wavefronts.
void count_shared(MemoryCounts& counts, const MemoryAccess& access) {
  const SharedWavefronts wavefronts =
      access.memo ? access.memo->wavefronts(access) : AccessMemo().wavefronts(access);
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

GPUEXP_VECTORIZED bool AccessMemo::matches(const MemoryAccess& access, std::uint64_t period) const {
  const std::uint64_t begin = access.address[0];
  if (width_ != access.width || lanes_ != access.lanes || ((begin ^ begin_) & (period - 1)) != 0)
    return false;
  std::uint64_t differ = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    differ |= (access.address[l] - begin) ^ offsets_[l];
  return differ == 0;
}

void AccessMemo::remember(const MemoryAccess& access) {
  width_ = access.width;
  lanes_ = access.lanes;
  begin_ = access.address[0];
  offset_bits_ = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    offsets_[l] = access.address[l] - begin_;
    offset_bits_ |= offsets_[l];
  }
}

SharedWavefronts AccessMemo::wavefronts(const MemoryAccess& access) {
  switch (access.shape.pattern) {
    case Pattern::one: return {access.width > 8 ? 2u : 1u, 0};
    case Pattern::contiguous: return {std::max(1u, access.width >> kWordShift), 0};
    case Pattern::other: break;
  }
  if (!matches(access, 1u << kWordShift)) {
    remember(access);
    wavefronts_ = shared_wavefronts_of(access);
  }
  return wavefronts_;
}

void AccessMemo::remember_touch(const MemoryAccess& access) {
  constexpr std::uint64_t kLineBytes = 1u << kLineShift;
  const bool are_whole_lines = offset_bits_ % kLineBytes == 0;
  if (matches(access, are_whole_lines ? 1u << kWordShift : kLineBytes)) return;
  remember(access);
  constexpr unsigned kSectorsShift = kLineShift - kSectorShift;  // log2 of the sectors per line
  const Touched touched(access.address, access.lanes, kSectorShift);
  std::uint64_t previous = ~std::uint64_t{0};
  sector_count_ = 0;
  line_count_ = 0;
  for (const std::uint64_t sector : touched) {
    sectors_[sector_count_++] = sector - (begin_ >> kSectorShift);
    const std::uint64_t line = sector >> kSectorsShift;
    if (line != previous) lines_[line_count_++] = line - (begin_ >> kLineShift);
    previous = line;
  }
  std::fill(lines_.of.begin() + line_count_, lines_.of.end(), 0);
  bank_wavefronts_ = shared_wavefronts_of(access).all;
  tag_wavefronts_ = 0;
}

GlobalCounts AccessMemo::touches(const MemoryAccess& access) {
  switch (access.shape.pattern) {
    case Pattern::one: return {1, 1, 1, 1};
    case Pattern::contiguous: {
      GlobalCounts counts = counts_of_contiguous(access.address[0], access.width);
      counts.missed_wavefronts = missed_wavefronts_of(access, counts);
      return counts;
    }
    case Pattern::other: break;
  }
  remember_touch(access);
  const std::uint64_t line = access.address[0] >> kLineShift;
  if (tag_wavefronts_ == 0 || line != tag_line_) {
    tag_line_ = line;
    tag_wavefronts_ = tag_wavefronts(line, lines_, line_count_);
    missed_wavefronts_ = missed_wavefronts_of(access, {0, tag_wavefronts_, bank_wavefronts_});
  }
  return {sector_count_, tag_wavefronts_, bank_wavefronts_, missed_wavefronts_};
}

GPUEXP_VECTORIZED unsigned AccessMemo::tag_wavefronts_past_l1(const MemoryAccess& access) {
  const unsigned tag_bank_wavefronts = touches(access).tag_wavefronts;
  const Lanes64& to = *access.destination;
  CopyPlace place{access.lanes, access.address[0] % (1u << kLineShift), to[0] % kCopyGroupBytes};
  std::uint64_t differ = place == copy_place_ ? 0 : 1;
  for (unsigned l = 0; l < kLanes; ++l) {
    differ |= (access.address[l] - access.address[0]) ^ source_offsets_[l];
    differ |= (to[l] - to[0]) ^ destination_offsets_[l];
  }
  if (differ != 0) {
    copy_place_ = place;
    for (unsigned l = 0; l < kLanes; ++l) {
      source_offsets_[l] = access.address[l] - access.address[0];
      destination_offsets_[l] = to[l] - to[0];
    }
    destination_wavefronts_ = destination_wavefronts(access);
  }
  return std::max(tag_bank_wavefronts, destination_wavefronts_);
}

GlobalTouch AccessMemo::touch(const MemoryAccess& access) {
  const GlobalCounts counts = touches(access);
  GlobalTouch touch;
  touch.count = counts.sectors;
  touch.tag_wavefronts = counts.tag_wavefronts;
  touch.bank_wavefronts = counts.bank_wavefronts;
  touch.missed_wavefronts = counts.missed_wavefronts;
  touch.has_partial_sectors =
      static_cast<std::size_t>(std::popcount(access.lanes)) * access.width <
      touch.count << kSectorShift;
  const bool is_other = access.shape.pattern == Pattern::other;
  const std::uint64_t first = access.address[0] >> kSectorShift;
  for (std::size_t i = 0; i < touch.count; ++i)
    touch.sectors[i] = first + (is_other ? sectors_[static_cast<unsigned>(i)] : i);
  return touch;
}

GlobalTouch touch_of(const MemoryAccess& access) {
  return access.memo ? access.memo->touch(access) : AccessMemo().touch(access);
}

unsigned shared_wavefronts(const MemoryAccess& access) {
  return (access.memo ? access.memo->wavefronts(access) : AccessMemo().wavefronts(access)).all;
}

unsigned local_words(const MemoryAccess& access) {
  return std::max(1u, access.width >> kWordShift);
}

Lanes64 interleaved_addresses(const MemoryAccess& access, unsigned word) {
  constexpr std::uint64_t kWithinWord = (1u << kWordShift) - 1;
  Lanes64 at;
  for (unsigned l = 0; l < kLanes; ++l)
    at[l] = ((access.address[l] >> kWordShift) + word) << kLineShift |
            std::uint64_t{l} << kWordShift | (access.address[l] & kWithinWord);
  return at;
}

unsigned lanes_per_pass(const MemoryAccess& access) {
  return step_of(access);
}

void count(MemoryCounts& counts, const MemoryAccess& access) {
  if (access.lanes == 0) return;
  switch (access.kind) {
    // The copy engine and the tensor cores bypass the LSU.
    case Access::bulk_load:
    case Access::bulk_store:
    case Access::matrix_load: return;
    default: break;
  }
  // Nsight Compute has separate metrics for atomics (_op_atom, _op_red), whose requests count warp
  // instructions.
  if (access.space == Space::cluster || is_atomic(access.kind)) {
    const bool is_global = access.space == Space::global;
    counts.atomic_requests += is_global && access.kind == Access::atomic;
    counts.reduction_requests += is_global && access.kind == Access::reduction;
    ++counts.other_accesses;
    counts.other_tag_accesses += access.space != Space::shared;
    return;
  }
  if (access.space == Space::global) return count_global(counts, access);
  if (access.space == Space::local) return count_local(counts, access);
  count_shared(counts, access);
}

}  // namespace gpuexp::sim
