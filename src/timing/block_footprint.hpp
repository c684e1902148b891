// Footprint of a block: the bytes of global memory that it accesses, by instruction and phase.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/block.hpp"

namespace gpuexp {

/// Addresses [begin, end) of global memory.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Bytes that one instruction reads or writes: disjoint ascending ranges for each phase of the
/// block. All phases have the same maximum number of instructions per warp.
struct PlaceFootprint {
  std::uint32_t place = 0;
  bool writes = false;
  std::vector<std::vector<ByteRange>> phases;
};

/// Executes the block or cluster at the index `cluster`, up to 32 instructions of each warp in
/// turn. Throws sim::Fault, and sim::Stopped if `stop` returns true.
std::vector<PlaceFootprint> footprint_of(const sim::LaunchState& launch, const Extent& cluster,
                                         const std::function<bool()>& stop);

struct PlaceAddresses {
  struct Hashes {
    /// Hash of the lanes' sectors relative to the sector of `first`, in order of access. The hash
    /// excludes offsets within sectors, which may depend on data.
    std::uint64_t sectors = 0;
    /// Hash of all addresses relative to `first`. If active lanes are at equal distances, neither
    /// hash depends on which lanes are active: rows that are not aligned to vectors have fewer
    /// active lanes in their first and last vectors, in some blocks.
    std::uint64_t bytes = 0;

    bool operator==(const Hashes&) const = default;
  };

  /// Address at the first execution: of lane 0 if the lanes are at equal distances, else of the
  /// lowest active lane.
  std::uint64_t first = 0;
  /// Hashes after 1, 2, … executions, to compare loops with different numbers of iterations.
  std::vector<Hashes> after;

  /// This instruction's hashes after the number of executions that both instructions have.
  Hashes hashes(const PlaceAddresses& other) const;
};

/// Executes only the first warp of a block, without waiting for other warps. The warp may load
/// wrong values, which other warps should have stored; addresses rarely depend on such values.
class FirstWarps {
 public:
  explicit FirstWarps(const sim::LaunchState& launch) : launch_(launch) {
    launch_.max_warps = 1;
    launch_.is_alone = true;
    launch_.checks.bounds = false;
  }

  /// Addresses by instruction index, for the first block of a cluster. With `once`, execution ends
  /// when any instruction accesses global memory a second time.
  std::map<std::uint32_t, PlaceAddresses> addresses(const Extent& cluster, bool once) const;

 private:
  sim::LaunchState launch_;
};

}  // namespace gpuexp
