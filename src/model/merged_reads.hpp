// How many of the reads that SMs ask for reach L2. The SMs of a GPC share an L2 Request Coalescer
// (Nsight Compute, Profiling Guide): a read of a sector joins one that is under way, and of each
// four that do, L2 sees one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuexp {

/// A GPC of an H100 or H200 has 16 or 18 SMs (docs/studies/caches).
inline constexpr std::size_t kSmsOfGpc = 16;

/// Of the SMs of a GPU, each with its number in the order in which they get their first blocks:
/// that fills one GPC after the other.
std::int64_t gpc_of(std::int64_t sm, std::int64_t sms);

/// Sectors that blocks read, by how many SMs of one GPC have blocks that read them at one time.
/// More than a GPC's SMs count as all of them.
class ReadsBySms {
 public:
  void add(std::size_t sms, double sectors);
  double of(std::size_t sms) const { return sectors_.at(sms); }

  ReadsBySms& operator+=(const ReadsBySms& more);
  ReadsBySms& operator*=(double times);

 private:
  std::array<double, kSmsOfGpc + 1> sectors_{};
};

/// Of the reads of one sector by so many SMs of a GPC, the share that reaches L2. They come at any
/// time within `spread_ns`; of those that reach L2, it gets `dram_share` from device memory.
double share_to_l2(std::size_t sms, double spread_ns, double dram_share);

/// Of all reads; of them, before they join, `dram_share` is what device memory delivers.
double share_to_l2(const ReadsBySms& reads, double spread_ns, double dram_share);

}  // namespace gpuexp
