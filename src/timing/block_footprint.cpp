#include "timing/block_footprint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "sim/cluster.hpp"
#include "sim/grid_run.hpp"

namespace gpuexp {

namespace {

constexpr unsigned kSectorShift = 5;
constexpr unsigned kLineShift = 7;
constexpr std::uint64_t kLineSize = std::uint64_t{1} << kLineShift;

bool writes_memory(sim::Access kind) {
  return kind == sim::Access::store || kind == sim::Access::bulk_store || sim::is_atomic(kind);
}

/// One bit for each byte of a line.
class LineBytes {
 public:
  void add(std::uint64_t first, std::uint64_t end) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t word = kBits * i;
      const std::uint64_t from = std::clamp(first, word, word + kBits) - word;
      const std::uint64_t to = std::clamp(end, word, word + kBits) - word;
      if (from < to) words_[i] |= ~std::uint64_t{0} >> (kBits - (to - from)) << from;
    }
  }
  void operator|=(const LineBytes& more) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= more.words_[i];
  }
  bool any() const { return (words_[0] | words_[1]) != 0; }
  /// Calls range(begin, end) for each sequence of 1 bits in a word.
  template <class Range>
  void for_runs(const Range& range) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t at = kBits * i;
      for (std::uint64_t bits = words_[i]; bits != 0;) {
        const auto zeros = static_cast<unsigned>(std::countr_zero(bits));
        at += zeros;
        bits >>= zeros;
        const auto ones = static_cast<unsigned>(std::countr_one(bits));
        range(at, at + ones);
        at += ones;
        bits = ones < kBits ? bits >> ones : 0;
      }
    }
  }

 private:
  static constexpr std::uint64_t kBits = 64;
  std::array<std::uint64_t, kLineSize / kBits> words_{};
};

/// Accessed bytes by line and instruction. Uses open addressing, because most calls of add() find
/// an existing key.
class TouchedLines {
 public:
  struct Entry {
    std::uint64_t key = ~std::uint64_t{0};
    LineBytes bytes;
  };

  void add(std::uint64_t key, const LineBytes& bytes) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    Entry& entry = *place_of(key);
    count_ += !entry.bytes.any();
    entry.key = key;
    entry.bytes |= bytes;
  }
  void add(const TouchedLines& more) {
    for (const Entry& entry : more.entries_) {
      if (entry.bytes.any()) add(entry.key, entry.bytes);
    }
  }
  std::vector<Entry> sorted() const {
    std::vector<Entry> found;
    found.reserve(count_);
    for (const Entry& entry : entries_) {
      if (entry.bytes.any()) found.push_back(entry);
    }
    std::sort(found.begin(), found.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    return found;
  }

 private:
  Entry* place_of(std::uint64_t key) {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = static_cast<std::size_t>(key * kMultiplier >> 20) & mask;
    while (entries_[at].bytes.any() && entries_[at].key != key)
      at = (at + 1) & mask;
    return &entries_[at];
  }
  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(64, 2 * entries_.size()));
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.bytes.any()) *place_of(entry.key) = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

class Recorder final : private sim::AccessListener {
 public:
  Recorder(const sim::LaunchState& launch, const Extent& cluster, const std::function<bool()>& stop)
      : cluster_(launch, cluster), stop_(stop) {
    for (const auto& block : cluster_.blocks())
      block->set_listener(this);
  }

  std::vector<PlaceFootprint> run() {
    while (run_round()) {
      if (++rounds_ < rounds_of_phase_) continue;
      rounds_ = 0;
      phases_.emplace_back();
      if (phases_.size() == kMaxPhases) halve();
    }
    return footprints();
  }

 private:
  static constexpr std::size_t kMaxPhases = 32;
  static constexpr unsigned kPlaceBits = 10;  ///< number of key bits below the line number

  // Executes up to kTurn instructions of each warp. Returns false if all warps had exited before.
  bool run_round() {
    constexpr int kTurn = 32;
    sim::Round round;
    for (const auto& block : cluster_.blocks()) {
      for (const auto& warp : block->warps()) {
        round.any_left |= !warp->divergence.has_exited();
        for (int i = 0; i < kTurn && warp->divergence.is_running(); ++i) {
          round.any_ran = true;
          warp_place_ = warp->divergence.next();
          block->step(*warp);
          if (warp->waits) break;
          round.any_progress = true;
        }
      }
    }
    if (round.any_left && !round.any_ran && !cluster_.release_barriers()) cluster_.report_barrier();
    idle_.add(round, cluster_.phases_ended());
    if (stop_()) throw sim::Stopped("the run was ended");
    return round.any_left;
  }

  void hear(const sim::MemoryAccess& access) override {
    if (access.space != sim::Space::global) return;
    const std::uint64_t place = number_of(warp_place_, writes_memory(access.kind));
    TouchedLines& touched = phases_.back();
    std::uint64_t line = ~std::uint64_t{0};
    LineBytes bytes;
    const auto flush = [&] {
      if (bytes.any()) touched.add(line << kPlaceBits | place, bytes);
    };
    const auto add_range = [&](std::uint64_t at, std::uint64_t end) {
      while (at < end) {
        const std::uint64_t line_begin = at & ~(kLineSize - 1);
        const std::uint64_t next = std::min(end, line_begin + kLineSize);
        if (at >> kLineShift != line) {
          flush();
          line = at >> kLineShift;
          bytes = {};
        }
        bytes.add(at - line_begin, next - line_begin);
        at = next;
      }
    };
    if (access.lanes == sim::kAllLanes &&
        access.shape.pattern == sim::AccessShape::Pattern::contiguous) {
      add_range(access.shape.first, access.shape.last + access.width);
    } else {
      sim::for_each_lane(access.lanes, [&](unsigned lane) {
        add_range(access.address[lane], access.address[lane] + access.width);
      });
    }
    flush();
  }

  std::uint64_t number_of(std::uint32_t place, bool writes) {
    const std::size_t key = 2 * std::size_t{place} + writes;
    if (key >= numbers_.size()) numbers_.resize(key + 1, kNoNumber);
    if (numbers_[key] == kNoNumber) {
      numbers_[key] = places_.size();
      places_.push_back({place, writes, {}});
    }
    return numbers_[key];
  }

  void halve() {
    for (std::size_t i = 0; i < phases_.size() / 2; ++i) {
      TouchedLines both = std::move(phases_[2 * i]);
      both.add(phases_[2 * i + 1]);
      phases_[i] = std::move(both);
    }
    phases_.resize(kMaxPhases / 2 + 1);
    phases_.back() = {};
    rounds_of_phase_ *= 2;
  }

  std::vector<PlaceFootprint> footprints() {
    for (PlaceFootprint& place : places_)
      place.phases.resize(phases_.size());
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
      for (const auto& entry : phases_[phase].sorted()) {
        const std::uint64_t line = entry.key >> kPlaceBits << kLineShift;
        std::vector<ByteRange>& ranges =
            places_[entry.key & ((1u << kPlaceBits) - 1)].phases[phase];
        entry.bytes.for_runs([&](std::uint64_t begin, std::uint64_t end) {
          if (!ranges.empty() && ranges.back().end == line + begin)
            ranges.back().end = line + end;
          else
            ranges.push_back({line + begin, line + end});
        });
      }
    }
    return std::move(places_);
  }

  sim::Cluster cluster_;
  sim::IdleRounds idle_;
  const std::function<bool()>& stop_;
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

  std::vector<PlaceFootprint> places_;
  std::vector<std::uint64_t> numbers_;  ///< index in places_, by instruction and direction
  std::vector<TouchedLines> phases_{1};
  std::uint64_t rounds_ = 0;  ///< number of completed rounds of the current phase
  std::uint64_t rounds_of_phase_ = 1;
  std::uint32_t warp_place_ = 0;
};

/// Addresses at equal distances from lane to lane. `first` is that of lane 0, even if the lane is
/// inactive.
struct LaneLine {
  std::uint64_t first = 0;
  std::uint64_t step = 0;  ///< negative distances wrap around
};

/// Empty if fewer than two lanes are active, or if their addresses have unequal distances.
std::optional<LaneLine> line_of(const sim::MemoryAccess& access) {
  const unsigned lowest = sim::first_lane(access.lanes);
  const sim::LaneMask others = access.lanes & (access.lanes - 1);
  if (others == 0) return std::nullopt;
  const unsigned next = sim::first_lane(others);
  const auto distance =
      static_cast<std::int64_t>(access.address[next] - access.address[lowest]);
  const auto lanes = static_cast<std::int64_t>(next - lowest);
  if (distance % lanes != 0) return std::nullopt;
  const auto step = static_cast<std::uint64_t>(distance / lanes);
  const LaneLine line{access.address[lowest] - step * lowest, step};
  bool is_line = true;
  sim::for_each_lane(others, [&](unsigned lane) {
    is_line &= access.address[lane] == line.first + step * lane;
  });
  return is_line ? std::optional(line) : std::nullopt;
}

class AddressRecorder final : private sim::AccessListener {
 public:
  AddressRecorder(const sim::LaunchState& launch, const Extent& cluster)
      : block_(launch, {cluster.x * launch.cluster.x, cluster.y * launch.cluster.y,
                        cluster.z * launch.cluster.z}) {
    block_.set_listener(this);
  }

  std::map<std::uint32_t, PlaceAddresses> run(bool once) {
    sim::Warp& warp = *block_.warps().front();
    while (!warp.divergence.has_exited() && !(once && repeated_)) {
      if (!warp.divergence.is_running() && !block_.release_barriers()) block_.report_barrier();
      place_ = warp.divergence.next();
      block_.step(warp);
    }
    return std::move(places_);
  }

 private:
  void hear(const sim::MemoryAccess& access) override {
    if (access.space != sim::Space::global || access.lanes == 0) return;
    const std::optional<LaneLine> line = line_of(access);
    const auto [at, is_new] = places_.try_emplace(place_);
    PlaceAddresses& place = at->second;
    if (is_new) place.first = line ? line->first : access.address[sim::first_lane(access.lanes)];
    repeated_ |= !is_new;
    constexpr std::uint64_t kPrime = 0x100000001B3;  // FNV-1a, 64 bits at a time
    const auto mix = [&](std::uint64_t& hash, std::uint64_t value) {
      hash = (hash ^ value) * kPrime;
    };
    PlaceAddresses::Hashes hashes = is_new ? PlaceAddresses::Hashes{} : place.after.back();
    const auto mix_address = [&](std::uint64_t address) {
      mix(hashes.bytes, address - place.first);
      mix(hashes.sectors, (address >> kSectorShift) - (place.first >> kSectorShift));
    };
    if (line) {
      mix_address(line->first);
      mix(hashes.bytes, line->step);
      mix(hashes.sectors, line->step);
    } else {
      mix(hashes.sectors, access.lanes);
      sim::for_each_lane(access.lanes, [&](unsigned lane) { mix_address(access.address[lane]); });
    }
    place.after.push_back(hashes);
  }

  sim::Block block_;
  std::map<std::uint32_t, PlaceAddresses> places_;
  std::uint32_t place_ = 0;
  bool repeated_ = false;
};

}  // namespace

std::vector<PlaceFootprint> footprint_of(const sim::LaunchState& launch, const Extent& cluster,
                                         const std::function<bool()>& stop) {
  return Recorder(launch, cluster, stop).run();
}

PlaceAddresses::Hashes PlaceAddresses::hashes(const PlaceAddresses& other) const {
  return after[std::min(after.size(), other.after.size()) - 1];
}

std::map<std::uint32_t, PlaceAddresses> FirstWarps::addresses(const Extent& cluster,
                                                              bool once) const {
  return AddressRecorder(launch_, cluster).run(once);
}

}  // namespace gpuexp
