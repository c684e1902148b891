// What L2 fetches from DRAM and writes back, by replaying which bytes SMs ask for.
//
// What is asked for again is still there by how many other bytes were asked for in between, its
// reuse distance (Mattson et al., Evaluation Techniques for Storage Hierarchies, 1970). Of large
// footprints one page of so many is followed, chosen by a hash, in an L2 that is as much smaller
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
  double read_scattered = 0;  ///< of these, one by one from anywhere
  double written = 0;
  double read_sectors = 0;  ///< that were asked for and not there; with their neighbours, `read`
};

class L2Replay {
 public:
  /// Follows one page of `one_of`, a power of two.
  L2Replay(const DeviceSpec& device, std::uint64_t one_of);

  /// The ranges, `shift` bytes further on, as far as they are in `within`.
  void read(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within);
  void write(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within);
  /// So many accesses, each of a sector anywhere in the range.
  void read_scattered(const ByteRange& anywhere, double count);
  void write_scattered(const ByteRange& anywhere, double count);

  /// Bytes since this was asked last. What was fetched and written before stays in L2.
  DramBytes take();

 private:
  static constexpr unsigned kPageShift = 12;
  static constexpr unsigned kGranuleShift = 6;
  static constexpr std::size_t kGranules = std::size_t{1} << (kPageShift - kGranuleShift);
  static constexpr std::uint32_t kNever = 0;

  /// What is fetched together.
  struct Granule {
    std::uint32_t epoch = kNever;  ///< in which it was asked for last
    std::uint32_t dirty_since = 0;
    bool is_dirty = false;
    bool is_filled = false;                  ///< it was read, so that no sector needs to be
    std::array<std::uint32_t, 2> written{};  ///< a bit for each byte of its sectors
  };
  using Page = std::array<Granule, kGranules>;

  /// Pages by their numbers, by open addressing, and in slabs of many: thousands of them are made
  /// for a launch.
  class Pages {
   public:
    Page& at(std::uint64_t number);

   private:
    struct Place {
      std::uint64_t number = 0;
      Page* page = nullptr;  ///< null: the place is free
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

  /// What reads, or writes, came to since take().
  struct Sums {
    double asked = 0;     ///< granules
    double followed = 0;  ///< of these
    DramBytes bytes;      ///< of those that were followed
    DramBytes of_all() const;
  };

  /// Which pages of a range are followed. A bit for each is looked up once for each page that is
  /// asked for, and there are many; of a range larger than a GPU's memory, a hash is computed.
  class Followed {
   public:
    Followed(const ByteRange& range, std::uint64_t one_of);

    /// The first one from this page on, up to `last`; of none, a page behind it.
    std::uint64_t next(std::uint64_t page, std::uint64_t last) const;

   private:
    static constexpr std::uint64_t kBits = 64;
    static constexpr std::uint64_t kMostPages = std::uint64_t{1} << 26;  // 256 GiB

    bool is_chosen(std::uint64_t page) const;

    std::uint64_t one_of_;
    std::uint64_t first_;
    std::vector<std::uint64_t> bits_;
  };

  const Followed& followed_of(const ByteRange& range);
  Granule& granule_at(std::uint64_t address);
  template <class Touch>
  void for_granules(const ByteRange& range, const Followed& followed, Sums& sums,
                    const Touch& touch);
  template <class Touch>
  void for_moved(const std::vector<ByteRange>& ranges, std::int64_t shift, const ByteRange& within,
                 Sums& sums, const Touch& touch);
  const std::vector<std::uint64_t>& followed_pages(const ByteRange& range);
  template <class Touch>
  void scatter(const ByteRange& anywhere, double count, Sums& sums, const Touch& touch);
  double missing_share(Granule& granule);
  void use(Granule& granule);
  void close_epoch();
  void make_dirty(Granule& granule, const std::array<std::uint32_t, 2>& bytes);
  void write_back(Granule& granule);

  double l2_granules_;  ///< that are followed
  double granule_bytes_;
  std::uint64_t one_of_;
  Pages pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_page_ = nullptr;
  // Granules by when they were asked for last, in epochs of as many touches.
  std::vector<double> in_epoch_{0, 0};
  std::vector<double> behind_{0, 0};  ///< asked for since, before the epoch that is open
  std::uint32_t oldest_ = 1;          ///< epochs before are further away than L2 is large
  std::uint64_t touches_ = 0;         ///< in the open epoch
  std::uint64_t touches_of_epoch_;
  struct Dirtied {
    Granule* granule;
    std::uint32_t since;
  };
  std::deque<Dirtied> dirty_;
  double dirty_count_ = 0;
  std::uint32_t dirtied_ = 0;
  std::uint64_t random_ = 1;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Followed> followed_;
  /// Of ranges that are scattered over.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>> followed_pages_;
  double left_over_ = 0;  ///< of scattered accesses, of which one of many is followed
  Sums reads_;
  Sums writes_;
};

}  // namespace gpuexp
