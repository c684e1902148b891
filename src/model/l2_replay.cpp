#include "model/l2_replay.hpp"

#include <algorithm>
#include <bit>

#include "base/random_bits.hpp"
#include "device/hardware_sizes.hpp"
#include "device/l2_cache.hpp"

namespace gpuexp {

namespace {

constexpr std::uint64_t kL2SectorBytes = 32;

std::uint32_t bits_of(std::uint64_t begin, std::uint64_t end) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << (end - begin)) - 1) << begin);
}

}  // namespace

L2Replay::L2Replay(const DeviceSpec& device, std::uint64_t sampling_period)
    : granule_bytes_(static_cast<double>(l2_fetch_bytes(device))),
      sampling_period_(sampling_period) {
  constexpr double kGranule = 1 << kGranuleShift;
  l2_granules_ =
      static_cast<double>(device.l2_bytes) / kGranule / static_cast<double>(sampling_period);
  constexpr double kEpochs = 128;  // together they have as many touches as L2 holds granules
  touches_of_epoch_ = static_cast<std::uint64_t>(std::max(1.0, l2_granules_ / kEpochs));
}

L2Replay::SampledPages::SampledPages(const ByteRange& range, std::uint64_t sampling_period)
    : sampling_period_(sampling_period), first_(range.begin >> kPageShift) {
  const std::uint64_t pages = ((range.end - 1) >> kPageShift) - first_ + 1;
  if (sampling_period == 1 || pages > kMaxPages) return;
  bits_.resize((pages + kBits - 1) / kBits);
  for (std::uint64_t i = 0; i < pages; ++i) {
    if (is_chosen(first_ + i)) bits_[i / kBits] |= std::uint64_t{1} << i % kBits;
  }
}

bool L2Replay::SampledPages::is_chosen(std::uint64_t page) const {
  return sampling_period_ == 1 || (random_bits(0, page) & (sampling_period_ - 1)) == 0;
}

std::uint64_t L2Replay::SampledPages::next(std::uint64_t page, std::uint64_t last) const {
  if (bits_.empty()) {
    while (page <= last && !is_chosen(page))
      ++page;
    return page;
  }
  std::uint64_t word = (page - first_) / kBits;
  std::uint64_t bits = bits_[word] >> (page - first_) % kBits;
  if (bits != 0) return page + static_cast<std::uint64_t>(std::countr_zero(bits));
  while (++word <= (last - first_) / kBits) {
    bits = bits_[word];
    if (bits != 0)
      return first_ + word * kBits + static_cast<std::uint64_t>(std::countr_zero(bits));
  }
  return last + 1;
}

L2Replay::Buffer& L2Replay::buffer_of(const ByteRange& range) {
  const auto known = buffers_.find({range.begin, range.end});
  if (known != buffers_.end()) return known->second;
  return buffers_
      .try_emplace({range.begin, range.end}, Buffer{SampledPages(range, sampling_period_)})
      .first->second;
}

L2Replay::Page& L2Replay::Pages::at(std::uint64_t number) {
  Place* place = &place_of(number);
  if (place->page) return *place->page;
  if (2 * (count_ + 1) > places_.size()) {
    grow();
    place = &place_of(number);
  }
  if (count_ % kSlab == 0) slabs_.push_back(std::make_unique<Page[]>(kSlab));
  *place = {number, &slabs_.back()[count_++ % kSlab]};
  return *place->page;
}

L2Replay::Pages::Place& L2Replay::Pages::place_of(std::uint64_t number) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  std::size_t at = number * kMultiplier >> shift_;
  while (places_[at].page && places_[at].number != number)
    at = (at + 1) & (places_.size() - 1);
  return places_[at];
}

void L2Replay::Pages::grow() {
  std::vector<Place> before(2 * places_.size());
  before.swap(places_);
  --shift_;
  for (const Place& place : before) {
    if (place.page) place_of(place.number) = place;
  }
}

L2Replay::Granule& L2Replay::granule_at(std::uint64_t address) {
  const std::uint64_t number = address >> kPageShift;
  if (number != last_number_) {
    last_page_ = &pages_.at(number);
    last_number_ = number;
  }
  return (*last_page_)[address >> kGranuleShift & (kGranules - 1)];
}

// Calls touch(granule, begin, end) for each sampled granule in the range. [begin, end) are the
// granule's bytes in the range.
template <class Touch>
void L2Replay::for_granules(const ByteRange& range, const SampledPages& sampled, Sums& sums,
                            const Touch& touch) {
  constexpr std::uint64_t kGranule = std::uint64_t{1} << kGranuleShift;
  const std::uint64_t last_page = (range.end - 1) >> kPageShift;
  sums.requested +=
      static_cast<double>(((range.end - 1) >> kGranuleShift) - (range.begin >> kGranuleShift) + 1);
  for (std::uint64_t page = sampled.next(range.begin >> kPageShift, last_page); page <= last_page;
       page = page < last_page ? sampled.next(page + 1, last_page) : page + 1) {
    const std::uint64_t end = std::min(range.end, (page + 1) << kPageShift);
    for (std::uint64_t at = std::max(range.begin, page << kPageShift); at < end;) {
      const std::uint64_t first = at / kGranule * kGranule;
      const std::uint64_t last = std::min(end, first + kGranule);
      sums.sampled += 1;
      touch(granule_at(at), at - first, last - first);
      at = last;
    }
  }
}

// Share of the granule that L2 must fetch: 0 at short and 1 at long reuse distances. Between these
// distances, the share depends on cache sets and on copies of lines in both halves of the chip.
double L2Replay::missing_share(Granule& granule) {
  if (granule.epoch == kNever || granule.epoch < oldest_) return 1;
  if (granule.epoch + 1 == in_epoch_.size()) return 0;
  const double distance = newer_granules_[granule.epoch] + in_epoch_.back();
  return 1 - kept_share_at(distance / l2_granules_);
}

void L2Replay::use(Granule& granule) {
  if (granule.epoch != kNever) in_epoch_[granule.epoch] -= 1;
  granule.epoch = static_cast<std::uint32_t>(in_epoch_.size() - 1);
  in_epoch_.back() += 1;
  if (++touches_ == touches_of_epoch_) close_epoch();
}

void L2Replay::close_epoch() {
  touches_ = 0;
  double newer = 0;
  auto epoch = static_cast<std::uint32_t>(in_epoch_.size() - 1);
  for (; epoch >= oldest_; --epoch) {
    newer_granules_[epoch] = newer + in_epoch_[epoch] / 2;
    newer += in_epoch_[epoch];
    if (newer > l2_granules_) break;
  }
  oldest_ = std::max(oldest_, epoch);
  in_epoch_.push_back(0);
  newer_granules_.push_back(0);
}

void L2Replay::make_dirty(Granule& granule, const std::array<std::uint32_t, 2>& bytes,
                          Sums& sums) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    granule.written[i] |= bytes[i];
  dirty_count_ += !granule.is_dirty;
  granule.is_dirty = true;
  granule.dirty_since = ++dirtied_;
  dirty_.push_back({&granule, dirtied_, &sums});
  while (dirty_count_ > kDirtyShare * l2_granules_) {
    const Dirtied oldest = dirty_.front();
    dirty_.pop_front();
    if (oldest.granule->is_dirty && oldest.granule->dirty_since == oldest.since)
      write_back(*oldest.granule, *oldest.sums);
  }
}

// L2 reads a partially written sector before the write-back, unless the sector is complete in L2.
void L2Replay::write_back(Granule& granule, Sums& sums) {
  for (const std::uint32_t bytes : granule.written) {
    if (bytes == 0) continue;
    sums.bytes.written += kSectorBytes;
    if (bytes != ~std::uint32_t{0} && !granule.is_filled) sums.bytes.read += kSectorBytes;
  }
  granule.written = {};
  granule.is_dirty = false;
  granule.is_filled = false;
  dirty_count_ -= 1;
}

// Calls touch(granule, begin, end, sums) for the parts of the shifted ranges that are inside
// `within`.
template <class Touch>
void L2Replay::for_moved(const std::vector<ByteRange>& ranges, std::int64_t shift,
                         const ByteRange& within, Sums Buffer::*sums, const Touch& touch) {
  if (within.begin >= within.end) return;
  Buffer& buffer = buffer_of(within);
  for (const ByteRange& range : ranges) {
    const ByteRange moved{std::max(within.begin, range.begin + static_cast<std::uint64_t>(shift)),
                          std::min(within.end, range.end + static_cast<std::uint64_t>(shift))};
    if (moved.begin >= moved.end) continue;
    for_granules(moved, buffer.pages, buffer.*sums,
                 [&](Granule& granule, std::uint64_t begin, std::uint64_t end) {
                   touch(granule, begin, end, buffer.*sums);
                 });
  }
}

// Sectors of one granule that are requested together also miss together.
void L2Replay::read(const std::vector<ByteRange>& ranges, std::int64_t shift,
                    const ByteRange& within) {
  const Granule* last = nullptr;
  double missing = 0;
  std::uint64_t counted_to = 0;  // end of the granule's counted sectors
  for_moved(ranges, shift, within, &Buffer::reads,
            [&](Granule& granule, std::uint64_t begin, std::uint64_t end, Sums& sums) {
              const bool is_new = &granule != last;
              if (is_new) {
                missing = missing_share(granule);
                counted_to = 0;
                last = &granule;
                sums.bytes.read += granule_bytes_ * missing;
              }
              const std::uint64_t first = std::max(counted_to, begin / kL2SectorBytes);
              counted_to = std::max(counted_to, (end - 1) / kL2SectorBytes + 1);
              sums.bytes.read_sectors +=
                  missing * static_cast<double>(counted_to - std::min(first, counted_to));
              granule.is_filled = true;
              use(granule);
            });
}

void L2Replay::write(const std::vector<ByteRange>& ranges, std::int64_t shift,
                     const ByteRange& within) {
  for_moved(ranges, shift, within, &Buffer::writes,
            [&](Granule& granule, std::uint64_t begin, std::uint64_t end, Sums& sums) {
              if (missing_share(granule) == 1 && !granule.is_dirty) granule.is_filled = false;
              std::array<std::uint32_t, 2> bytes{};
              if (begin < kL2SectorBytes) bytes[0] = bits_of(begin, std::min(end, kL2SectorBytes));
              if (end > kL2SectorBytes)
                bytes[1] =
                    bits_of(std::max(begin, kL2SectorBytes) - kL2SectorBytes, end - kL2SectorBytes);
              use(granule);
              make_dirty(granule, bytes, sums);
            });
}

const std::vector<std::uint64_t>& L2Replay::sampled_page_list(const ByteRange& range) {
  Buffer& buffer = buffer_of(range);
  if (!buffer.page_list.empty()) return buffer.page_list;
  const std::uint64_t last = (range.end - 1) >> kPageShift;
  for (std::uint64_t page = buffer.pages.next(range.begin >> kPageShift, last); page <= last;
       page = page < last ? buffer.pages.next(page + 1, last) : page + 1)
    buffer.page_list.push_back(page);
  return buffer.page_list;
}

// In a large range, samples accesses at the rate at which pages are sampled. In a small range, the
// sampled share of pages may differ from that rate. Accesses are then sampled with the same share,
// so that repeated accesses occupy the right share of L2.
template <class Touch>
void L2Replay::scatter(const ByteRange& anywhere, double count, Sums Buffer::*sums,
                       const Touch& touch) {
  constexpr std::uint64_t kManyPages = 16;
  const std::uint64_t pages =
      ((anywhere.end - 1) >> kPageShift) - (anywhere.begin >> kPageShift) + 1;
  const std::vector<std::uint64_t> none;
  const std::vector<std::uint64_t>& sampled =
      sampling_period_ > 1 ? sampled_page_list(anywhere) : none;
  Sums& of_buffer = buffer_of(anywhere).*sums;
  const double share = sampling_period_ > 1 && pages < kManyPages * sampling_period_
                           ? static_cast<double>(sampled.size()) / static_cast<double>(pages)
                           : 1 / static_cast<double>(sampling_period_);
  of_buffer.requested += count;
  left_over_ += count * share;
  for (; left_over_ >= 1 && share > 0; left_over_ -= 1) {
    std::uint64_t at = anywhere.begin + random_bits(1, random_++) % (anywhere.end - anywhere.begin);
    if (!sampled.empty()) {
      const std::uint64_t page = sampled[random_bits(2, random_) % sampled.size()];
      at = std::clamp((page << kPageShift) + at % (std::uint64_t{1} << kPageShift), anywhere.begin,
                      anywhere.end - 1);
    }
    of_buffer.sampled += 1;
    touch(granule_at(at), at / kL2SectorBytes % 2, of_buffer);
  }
}

void L2Replay::read_scattered(const ByteRange& anywhere, double count) {
  scatter(anywhere, count, &Buffer::reads, [&](Granule& granule, std::uint64_t, Sums& sums) {
    const double missing = missing_share(granule);
    const double fetched = granule_bytes_ * missing;
    sums.bytes.read_sectors += missing;
    sums.bytes.read += fetched;
    sums.bytes.read_scattered += fetched;
    granule.is_filled = true;
    use(granule);
  });
}

void L2Replay::write_scattered(const ByteRange& anywhere, double count) {
  scatter(anywhere, count, &Buffer::writes,
          [&](Granule& granule, std::uint64_t sector, Sums& sums) {
            use(granule);
            make_dirty(granule,
                       sector == 0 ? std::array<std::uint32_t, 2>{1, 0}
                                   : std::array<std::uint32_t, 2>{0, 1},
                       sums);
          });
}

DramBytes L2Replay::Sums::of_all() const {
  const double scale = sampled > 0 ? requested / sampled : 0;
  return {bytes.read * scale, bytes.read_scattered * scale, bytes.written * scale,
          bytes.read_sectors * scale};
}

DramBytes L2Replay::take() {
  DramBytes bytes;
  for (auto& [range, buffer] : buffers_) {
    for (Sums* sums : {&buffer.reads, &buffer.writes}) {
      const DramBytes more = sums->of_all();
      bytes.read += more.read;
      bytes.read_scattered += more.read_scattered;
      bytes.written += more.written;
      bytes.read_sectors += more.read_sectors;
      sums->bytes = {};
    }
  }
  return bytes;
}

}  // namespace gpuexp
