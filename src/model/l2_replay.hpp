// Bytes that L2 fetches from DRAM and writes back, computed by replaying the SMs' requests.
//
// L2 still holds a byte if its reuse distance, the number of other bytes requested since, is small
// enough (Mattson et al., Evaluation Techniques for Storage Hierarchies, 1970). For large
// footprints, only one page of N, chosen by a hash, is replayed, in an L2 of 1/N of the size
// (Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/device_spec.hpp"
#include "timing/block_footprint.hpp"

namespace gpuexp {

struct DramBytes {
  double read = 0;
  double read_scattered = 0;  ///< part of `read`: single fetches at random addresses
  double written = 0;
  /// Number of requested sectors that missed L2; `read` also includes bytes of their neighbours.
  double read_sectors = 0;
};

class L2Replay {
 public:
  /// Samples one page of `sampling_period` pages; the period is a power of two.
  L2Replay(const DeviceSpec& device, std::uint64_t sampling_period);

  /// Accesses the parts of the ranges, shifted by `shift` bytes, that are inside `within`.
  void read(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within);
  void write(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within);
  void read_scattered(const ByteRange& anywhere, double count);
  void write_scattered(const ByteRange& anywhere, double count);

  /// Returns the bytes moved between L2 and DRAM since the previous call. L2 keeps its contents.
  DramBytes take();

 private:
  static constexpr unsigned kPageShift = 12;
  static constexpr unsigned kGranuleShift = 6;
  static constexpr std::size_t kGranules = std::size_t{1} << (kPageShift - kGranuleShift);
  static constexpr std::uint32_t kNever = 0;

  /// 64 bytes, the unit in which L2 fetches from DRAM since Ampere (l2_fetch_bytes).
  struct Granule {
    std::uint32_t epoch = kNever;
    std::uint32_t dirty_since = 0;
    bool is_dirty = false;
    bool is_filled = false;  ///< the granule was read, so its write-back needs no read
    std::array<std::uint32_t, 2> written{};  ///< one bit per byte of its sectors
  };
  using Page = std::array<Granule, kGranules>;

  /// Pages by number. The table with open addressing and the slabs avoid an allocation per page,
  /// because a launch has thousands of pages.
  class Pages {
   public:
    Page& at(std::uint64_t number);

   private:
    struct Place {
      std::uint64_t number = 0;
      Page* page = nullptr;  ///< null: the entry is free
    };
    static constexpr unsigned kFirstBits = 6;
    static constexpr std::size_t kSlab = 32;

    Place& place_of(std::uint64_t number);
    void grow();

    std::vector<std::unique_ptr<Page[]>> slabs_;
    std::size_t count_ = 0;
    unsigned shift_ = 64 - kFirstBits;
    std::vector<Place> places_ = std::vector<Place>(std::size_t{1} << kFirstBits);
  };

  /// Sums over reads, or over writes. A launch may write back what an earlier one wrote to another
  /// buffer, so the share of sampled granules is that of all accesses of the buffer.
  struct Sums {
    double requested = 0;  ///< granules
    double sampled = 0;    ///< granules
    DramBytes bytes;       ///< since the last take()
    DramBytes of_all() const;
  };

  /// Sampled pages of a range, one bit per page, because looking up a bit is faster than a hash.
  /// For a range of more than 256 GiB, hashes are computed.
  class SampledPages {
   public:
    SampledPages(const ByteRange& range, std::uint64_t sampling_period);

    /// First sampled page in [page, last]; a number above `last` if there is none.
    std::uint64_t next(std::uint64_t page, std::uint64_t last) const;

   private:
    static constexpr std::uint64_t kBits = 64;
    static constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 26;  // 256 GiB

    bool is_chosen(std::uint64_t page) const;

    std::uint64_t sampling_period_;
    std::uint64_t first_;
    std::vector<std::uint64_t> bits_;
  };

  /// Sampled pages and sums of one buffer. In a buffer of few pages, the sampled share differs from
  /// that of other buffers, so sums over several buffers could not be scaled.
  struct Buffer {
    SampledPages pages;
    Sums reads = {};
    Sums writes = {};
    std::vector<std::uint64_t> page_list = {};  ///< for scattered accesses
  };

  Buffer& buffer_of(const ByteRange& range);
  Granule& granule_at(std::uint64_t address);
  template <class Touch>
  void for_granules(const ByteRange& range, const SampledPages& sampled, Sums& sums,
                    const Touch& touch);
  template <class Touch>
  void for_moved(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within,
                 Sums Buffer::*sums, const Touch& touch);
  const std::vector<std::uint64_t>& sampled_page_list(const ByteRange& range);
  template <class Touch>
  void scatter(const ByteRange& anywhere, double count, Sums Buffer::*sums, const Touch& touch);
  double missing_share(Granule& granule);
  void use(Granule& granule);
  void close_epoch();
  void make_dirty(Granule& granule, const std::array<std::uint32_t, 2>& bytes, Sums& sums);
  void write_back(Granule& granule, Sums& sums);

  double l2_granules_;  ///< capacity of L2 in sampled granules
  double granule_bytes_;
  std::uint64_t sampling_period_;
  Pages pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_page_ = nullptr;
  // Number of granules by the epoch of their last request. All epochs have equally many touches.
  std::vector<double> in_epoch_{0, 0};
  /// Number of granules requested after the middle of the epoch, when the last epoch closed.
  std::vector<double> newer_granules_{0, 0};
  std::uint32_t oldest_ = 1;  ///< L2 holds no granule of earlier epochs
  std::uint64_t touches_ = 0;
  std::uint64_t touches_of_epoch_;
  struct Dirtied {
    Granule* granule;
    std::uint32_t since;
    Sums* sums;
  };
  std::deque<Dirtied> dirty_;
  double dirty_count_ = 0;
  std::uint32_t dirtied_ = 0;
  std::uint64_t random_ = 1;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Buffer> buffers_;  ///< by begin and end
  double left_over_ = 0;  ///< fraction of a sampled scattered access that is carried over
};

}  // namespace gpuexp
