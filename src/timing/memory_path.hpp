// Time of one SM's loads and stores in L1's tags, in the data stage that L1 shares with shared
// memory, and in L2 and device memory.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/access_counts.hpp"
#include "timing/atomic_units.hpp"
#include "timing/cycle_sums.hpp"
#include "timing/dram_queue.hpp"
#include "timing/latency_spread.hpp"
#include "timing/partial_stores.hpp"
#include "timing/sector_cache.hpp"
#include "timing/server.hpp"
#include "timing/sm_busy.hpp"
#include "timing/sm_parameters.hpp"

namespace gpuexp {

/// Times of a request, in cycles.
struct Served {
  double taken = 0;  ///< the request has left the queue, and its operands have been read
  double done = 0;   ///< the request's results are available
  double alone = 0;  ///< the results would be available if no other request preceded this one
};

/// First sector number of local memory, above all sectors of global memory.
inline constexpr std::uint64_t kLocalSectors = std::uint64_t{1} << 58;

/// Numbers of sectors that accesses to global and local memory looked up in L1's tags.
struct SectorLookups {
  double all = 0;
  double hits = 0;  ///< sectors present or in flight; for stores, all sectors of present lines
  /// L1 data-stage wavefronts of loads beyond sim::GlobalCounts::missed_wavefronts; negative if
  /// loads hit lines and need fewer wavefronts.
  double extra_wavefronts = 0;

  SectorLookups& operator+=(const SectorLookups& more) {
    all += more.all;
    hits += more.hits;
    extra_wavefronts += more.extra_wavefronts;
    return *this;
  }
};

/// L1 data-stage wavefronts of a load from global memory. Bit i of `missing` is set if the touch's
/// i-th sector has not arrived in L1. Sectors that hit take the wavefronts that their banks
/// require. Sectors that miss take at least one wavefront for each tag-stage wavefront with a line
/// that misses (docs/studies/caches/l1_hits.csv).
double delivered_wavefronts(const sim::GlobalTouch& touch, std::uint64_t missing);

/// Expected number of repeated shared memory wavefronts (SectorRepeats, device/unified_memory.hpp).
struct SharedRepeats {
  double loads = 0;
  double stores = 0;

  SharedRepeats& operator+=(const SharedRepeats& more) {
    loads += more.loads;
    stores += more.stores;
    return *this;
  }
};

enum class SharedUse { load, store, other };

/// Sectors that each block has requested or written.
class BlockSectors {
 public:
  /// A sector is forgotten after `kept` later accesses to any sectors.
  explicit BlockSectors(double kept) : kept_(kept) {}

  /// Records an access. Returns whether it is the block's first request (or write) of the sector.
  bool is_first(std::uint64_t block, std::uint64_t sector, bool writes) {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    Last& last = last_of(((2 * sector + writes) ^ block * kMultiplier) * kMultiplier);
    const double before = std::exchange(last.count, ++count_);
    return before == 0 || count_ - before > kept_;
  }

 private:
  struct Last {
    std::uint64_t key = 0;
    double count = 0;  ///< count_ at the last access; 0: the entry is free
  };

  // A table with open addressing, because std::unordered_map allocates memory for each sector. The
  // multiplication is a bijection that mixes the high bits well.
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

/// Times of a range that the copy engine copies, such as one row of a tensor copy's box.
struct CopyTime {
  double read = 0;   ///< all bytes have been requested from L2, or read from shared memory
  double there = 0;  ///< all bytes have arrived
  double alone = 0;  ///< all bytes would have arrived if no other request preceded this one
};

class MemoryPath {
 public:
  /// The SMs of a cluster share `requested`. `draws` is the seed of the latencies.
  MemoryPath(const SmParameters& parameters, BlockSectors& requested, std::uint64_t draws = 1)
      : parameters_(parameters),
        l1_(parameters.l1_bytes),
        behind_(parameters.behind),
        atomics_(parameters.behind.atomics),
        requested_(requested),
        draw_(draws) {}

  /// Sets the number of the block, and the SM's number of the warp, that make the following
  /// accesses.
  void set_warp(std::uint64_t block, std::uint64_t warp) {
    block_ = block;
    warp_ = warp;
  }

  /// Loads from global or local memory at `now`. With `passes_l1`, L1 neither provides nor keeps
  /// the sectors.
  Served load(double now, const sim::GlobalTouch& touch, bool passes_l1);
  /// Atomic operations on global memory, which L2 executes.
  Served atomic(double now, const sim::MemoryAccess& access);
  /// Reads the source of cp.async. Because cp.async writes no registers, it uses the data stage
  /// only to write shared memory: write_copied().
  Served copy(double now, const sim::GlobalTouch& touch, bool passes_l1);
  Served store(double now, const sim::GlobalTouch& touch);
  /// Accesses shared memory, or uses the data stage as shared memory accesses do. `share` is the
  /// share of the banks that each wavefront uses.
  Served shared(double now, double wavefronts, SharedUse use = SharedUse::other, double share = 1);
  /// Writes `wavefronts` wavefronts copied by cp.async to shared memory, and returns the end of the
  /// write.
  double write_copied(double now, double wavefronts);

  CopyTime copy_in(double now, std::uint64_t address, std::uint64_t bytes);
  CopyTime copy_out(double now, std::uint64_t address, std::uint64_t bytes, double sector_clocks);
  /// Accesses another block's shared memory, on the SM of `other`. 128 bytes take `line_clocks`
  /// cycles.
  Served reach(double now, double bytes, double line_clocks, MemoryPath& other);
  /// Reserves the data stage for `wavefronts` wavefronts, spread evenly from `when` to `end`.
  void reserve_data_stage(double when, double end, double wavefronts);
  void drop_l1() { l1_.drop_all(); }
  void fill_l1_with_others() { l1_.fill_with_others(); }
  void finish() { catch_up(SectorCache::kAbsent); }

  /// Adds the number of cycles in which each unit was busy.
  void add_to(SmBusy& busy) const;
  /// When the last request has ended. A kernel ends when L2 has acknowledged all stores.
  double last() const;
  /// Returns the lookups since the previous call.
  SectorLookups take_lookups() { return std::exchange(lookups_, {}); }
  const SharedRepeats& repeats() const { return repeats_; }
  /// Numbers of sectors that the SM has requested from L2 and written to L2.
  double l2_reads() const { return l2_reads_; }
  double l2_writes() const { return l2_writes_; }

 private:
  struct Later {
    double when = 0;
    double clocks = 0;
    bool operator<(const Later& other) const { return when > other.when; }
  };

  void catch_up(double now);
  struct FetchOptions {
    bool passes_l1 = false;
    /// Atomic operation: if the sector comes from DRAM, it is also written back there.
    bool changes = false;
    bool copies = false;
  };
  double fetch(double when, std::uint64_t sector, double share, double cost, bool changes = false);
  double fetch_local(double when, double share);
  double store_to_l2(double when, std::uint64_t sector, double cost);
  /// Result of an L1 lookup; `there` is the arrival time of the last sector.
  struct Fetched {
    double there = 0;
    std::uint64_t missing = 0;  ///< bit i: the touch's i-th sector has not arrived
  };
  Fetched fetch_all(double now, double when, const sim::GlobalTouch& touch,
                    const FetchOptions& options);
  Served load_as(double now, const sim::GlobalTouch& touch, const FetchOptions& options);

  const SmParameters& parameters_;
  SectorCache l1_;
  SectorLookups lookups_;
  CycleSums load_repeats_;   ///< expected repeats of a load's wavefront, by cycle
  CycleSums store_repeats_;  ///< expected repeats of a store's wavefront, by cycle
  SharedRepeats repeats_;
  double l2_reads_ = 0;
  double l2_writes_ = 0;
  const BehindL1& behind_;
  PartialStores partial_stores_;
  AtomicUnits atomics_;
  BlockSectors& requested_;
  std::uint64_t block_ = 0;
  std::uint64_t warp_ = 0;
  std::optional<double> first_load_at_;  ///< when the kernel's first load reaches L2
  double acknowledged_at_ = 0;           ///< when L2's answer to the last store arrives
  double max_latency_ = 0;    ///< largest latency of a sector of the current access, in cycles
  double shared_clocks_ = 0;  ///< cycles in which shared memory accesses used the data stage
  ShareDraw draw_;
  SliceShares slices_;
  SliceShares dram_slices_;  ///< for the latencies of lines in DRAM
  std::priority_queue<Later> later_;
  Server engine_;  ///< copy engine, both directions
  Server link_;
  Server tags_;
  Server data_;
  Server l2_read_;
  Server l2_write_;
  Server dram_;
  DramQueue dram_queue_;
};

}  // namespace gpuexp
