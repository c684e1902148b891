// What loads and stores of one SM take: L1's tags, the data stage that L1 and shared memory have in
// common, and this SM's part of L2 and of device memory.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "sim/access_counts.hpp"
#include "timing/clock_sums.hpp"
#include "timing/latency_spread.hpp"
#include "timing/sector_cache.hpp"
#include "timing/sm_busy.hpp"
#include "timing/sm_figures.hpp"

namespace gpuexp {

/// Serves one at a time, in the order of their coming.
class Server {
 public:
  /// When somebody who comes at `when` and takes so many clocks has been served.
  double serve(double when, double clocks) {
    free_at_ = (when > free_at_ ? when : free_at_) + clocks;
    busy_ += clocks;
    return free_at_;
  }
  double free_at() const { return free_at_; }
  /// Clocks in which it served.
  double busy() const { return busy_; }

 private:
  double free_at_ = 0;
  double busy_ = 0;
};

/// In clocks.
struct Served {
  double taken = 0;  ///< the queue has no more of it, and its operands have been read
  double done = 0;   ///< its results are there
  double alone = 0;  ///< they would be, if nobody had been before it
};

/// Sectors of local memory have numbers from here on: nobody's are as high.
inline constexpr std::uint64_t kLocalSectors = std::uint64_t{1} << 58;

/// Sectors that L1's tags were asked for, loads and stores.
struct SectorLookups {
  double all = 0;
  double hits = 0;  ///< found there, or under way
  /// Wavefronts of the data stage beyond sim::GlobalCounts::missed_wavefronts: negative if loads
  /// hit lines that take fewer.
  double extra_wavefronts = 0;

  SectorLookups& operator+=(const SectorLookups& more) {
    all += more.all;
    hits += more.hits;
    extra_wavefronts += more.extra_wavefronts;
    return *this;
  }
};

/// Wavefronts in which the data stage delivers a load from global memory of which L1 lacks some
/// sectors, the i-th of the touch if bit i is set. What L1 holds takes what its banks require; what
/// it lacks also takes one for each wavefront of the tag stage that finds such a line
/// (docs/studies/caches/l1_hits.csv).
double delivered_wavefronts(const sim::GlobalTouch& touch, std::uint64_t missing);

/// Wavefronts of shared memory that are expected to be repeated, since a sector is written in their
/// clock (device/unified_memory.hpp).
struct SharedRepeats {
  double loads = 0;
  double stores = 0;

  SharedRepeats& operator+=(const SharedRepeats& more) {
    loads += more.loads;
    stores += more.stores;
    return *this;
  }
};

/// What goes through the data stage for shared memory.
enum class SharedUse { load, store, other };

/// Which sectors each block has asked for or written.
class SectorsOfBlocks {
 public:
  /// Those that were asked for or written `kept` sectors before are forgotten.
  explicit SectorsOfBlocks(double kept) : kept_(kept) {}

  /// Whether the block does it for the first time.
  bool is_first(std::uint64_t block, std::uint64_t sector, bool writes) {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    Last& last = last_of(((2 * sector + writes) ^ block * kMultiplier) * kMultiplier);
    const double before = std::exchange(last.count, ++count_);
    return before == 0 || count_ - before > kept_;
  }

 private:
  struct Last {
    std::uint64_t key = 0;
    double count = 0;  ///< what count_ was; 0: the place is free
  };

  // Open addressing, since a place is asked for with every sector: std::unordered_map allocates
  // each. The multiplication is a bijection, whose high bits are well mixed.
  Last& last_of(std::uint64_t key) {
    if (2 * used_ >= places_.size()) grow();
    Last& last = place_of(key);
    if (last.count == 0) {
      last.key = key;
      ++used_;
    }
    return last;
  }
  Last& place_of(std::uint64_t key) {
    std::size_t at = key >> shift_;
    while (places_[at].count != 0 && places_[at].key != key)
      at = (at + 1) & (places_.size() - 1);
    return places_[at];
  }
  void grow() {
    std::vector<Last> before(2 * places_.size());
    before.swap(places_);
    --shift_;
    for (const Last& last : before) {
      if (last.count != 0) place_of(last.key) = last;
    }
  }

  static constexpr unsigned kFirstBits = 10;
  double kept_;
  double count_ = 0;
  std::size_t used_ = 0;
  unsigned shift_ = 64 - kFirstBits;
  std::vector<Last> places_ = std::vector<Last>(std::size_t{1} << kFirstBits);
};

/// What the copy engine moves: ranges, of a tensor copy a box's rows.
struct CopyTime {
  double read = 0;   ///< of shared memory, its bytes have been
  double there = 0;  ///< they have come
  double alone = 0;  ///< likewise, if nobody had been before it
};

class MemoryPath {
 public:
  /// `asked_for` is common to the SMs of a cluster; `draws` begins the sequence of latencies.
  MemoryPath(const SmFigures& figures, SectorsOfBlocks& asked_for, std::uint64_t draws = 1)
      : figures_(figures),
        l1_(figures.l1_bytes),
        behind_(figures.behind),
        asked_for_(asked_for),
        draw_(draws) {}

  /// Whose accesses those that follow are.
  void set_block(std::uint64_t number) { block_ = number; }

  /// A load of global or local memory that is issued at `now`. One that passes L1 by leaves nothing
  /// there.
  Served load(double now, const sim::GlobalTouch& touch, bool passes_l1);
  /// Atomic operations on global memory, which L2 does.
  Served atomic(double now, const sim::GlobalTouch& touch);
  /// What cp.async reads: no registers are written, and so nothing goes through the data stage but
  /// what is written to shared memory (write_copied).
  Served copy(double now, const sim::GlobalTouch& touch, bool passes_l1);
  Served store(double now, const sim::GlobalTouch& touch);
  /// An access of shared memory, or what takes as much of its data stage. Its wavefronts have that
  /// share of the banks.
  Served shared(double now, double wavefronts, SharedUse use = SharedUse::other, double share = 1);
  /// What cp.async copied has come, and takes so many wavefronts to write.
  double write_copied(double now, double wavefronts);

  /// A row of a bulk copy from global memory that is asked for at `now`, past L1.
  CopyTime copy_in(double now, std::uint64_t address, std::uint64_t bytes);
  /// To global memory.
  CopyTime copy_out(double now, std::uint64_t address, std::uint64_t bytes, double sector_clocks);
  /// To or from the shared memory of another block; `other` is its SM, and 128 bytes take so long.
  Served reach(double now, double bytes, double line_clocks, MemoryPath& other);
  /// So many wavefronts will take the data stage from `when` on, until `end` or longer.
  void take_later(double when, double end, double wavefronts);
  void drop_l1() { l1_.drop_all(); }
  void fill_l1_with_others() { l1_.fill_with_others(); }
  /// Nothing more will be asked for.
  void finish() { catch_up(SectorCache::kAbsent); }

  /// Adds what its parts have served.
  void add_to(SmBusy& busy) const;
  /// The last of all that was asked for has been served.
  double last() const;
  /// Since it was asked last.
  SectorLookups take_lookups() { return std::exchange(lookups_, {}); }
  /// So far.
  const SharedRepeats& repeats() const { return repeats_; }
  /// That L2 was asked for so far, and that it got.
  double l2_reads() const { return l2_reads_; }
  double l2_writes() const { return l2_writes_; }

 private:
  /// Wavefronts of the data stage that something needs in time to come.
  struct Later {
    double when = 0;
    double clocks = 0;
    bool operator<(const Later& other) const { return when > other.when; }
  };

  void catch_up(double now);
  /// What sectors are asked for.
  struct Asking {
    bool passes_l1 = false;
    bool changes = false;  ///< by an atomic: what is written back has come from device memory
    bool copies = false;   ///< to shared memory
  };
  double fetch(double when, std::uint64_t sector, double share, bool changes = false);
  double fetch_local(double when, double share);
  double store_behind(double when, std::uint64_t sector);
  /// What L1 found at `now`, and when the last sector is there.
  struct Fetched {
    double there = 0;
    std::uint64_t missing = 0;  ///< bit i: the touch's i-th sector has not come yet
  };
  Fetched fetch_all(double now, double when, const sim::GlobalTouch& touch, const Asking& asking);
  Served load_as(double now, const sim::GlobalTouch& touch, const Asking& asking);

  const SmFigures& figures_;
  SectorCache l1_;
  SectorLookups lookups_;
  ClockSums beside_loads_;   ///< repeats of a wavefront in that clock
  ClockSums beside_stores_;  ///< likewise
  SharedRepeats repeats_;
  double l2_reads_ = 0;
  double l2_writes_ = 0;
  const BehindL1& behind_;
  SectorsOfBlocks& asked_for_;
  std::uint64_t block_ = 0;
  double trip_ = 0;           ///< the longest that the access under way makes behind L1
  double shared_clocks_ = 0;  ///< of the data stage, for shared memory
  ShareDraw draw_;
  SliceShares slices_;
  std::priority_queue<Later> later_;
  Server engine_;  ///< the copy engine, both ways
  Server link_;    ///< to other SMs of the cluster
  Server tags_;
  Server data_;
  Server l2_read_;
  Server l2_write_;
  Server dram_;
};

}  // namespace gpuexp
