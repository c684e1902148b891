// Which bytes of global memory a block touches, and in which order: its footprint, by executing it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/block.hpp"

namespace gpuexp {

/// [begin, end) of global memory.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What one instruction touches: ranges that are apart, in ascending order, for each of a block's
/// phases, which are as many instructions of its warps each.
struct PlaceFootprint {
  std::uint32_t place = 0;  ///< in the program
  bool writes = false;
  std::vector<std::vector<ByteRange>> phases;
};

/// Of all warps of the block, or of the cluster, a few instructions of each in turn. Throws
/// sim::Fault, and sim::Stopped where `stop` says so.
std::vector<PlaceFootprint> footprint_of(const sim::LaunchState& launch, const Extent& cluster,
                                         const std::function<bool()>& stop);

/// The addresses that a warp has at one instruction.
struct PlaceAddresses {
  struct Hashes {
    /// Of all addresses' sectors less that of `first`, in order: where in a sector an address is
    /// may depend on data.
    std::uint64_t sectors = 0;
    std::uint64_t bytes = 0;  ///< likewise, of the addresses themselves

    bool operator==(const Hashes&) const = default;
  };

  std::uint64_t first = 0;  ///< of the lowest lane, when it came there first
  /// When it has come there once, twice, …: a loop with fewer turns may be alike as far as it goes.
  std::vector<Hashes> after;

  /// As far as both have come.
  Hashes hashes(const PlaceAddresses& other) const;
};

/// Executes the first warps of blocks alone. They wait for no others: what they read of theirs may
/// be anything, which addresses hardly depend on.
class FirstWarps {
 public:
  explicit FirstWarps(const sim::LaunchState& launch) : launch_(launch) {
    launch_.most_warps = 1;
    launch_.is_alone = true;
  }

  /// By place; of a cluster, its first block's. `once` ends with the first instruction that is
  /// executed a second time.
  std::map<std::uint32_t, PlaceAddresses> addresses(const Extent& cluster, bool once) const;

 private:
  sim::LaunchState launch_;
};

}  // namespace gpuexp
