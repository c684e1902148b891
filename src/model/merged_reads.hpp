// Share of the SMs' reads that reach L2. In the L2 Request Coalescer of a GPC (Nsight Compute,
// Profiling Guide), a read joins a read of the same sector that is in flight, so L2 receives only
// one of up to four such reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuexp {

/// An H100 or H200 has 16 or 18 SMs per GPC (docs/studies/caches).
inline constexpr std::size_t kSmsOfGpc = 16;

/// GPC of an SM. SMs are numbered by their first blocks, which fill one GPC after another.
std::int64_t gpc_of(std::int64_t sm, std::int64_t sms);

/// Number of sector reads by how many SMs of a GPC, at most kSmsOfGpc, read the sector
/// concurrently.
class ReadsBySms {
 public:
  void add(std::size_t sms, double sectors);
  double of(std::size_t sms) const { return sectors_.at(sms); }

  ReadsBySms& operator+=(const ReadsBySms& more);
  ReadsBySms& operator*=(double times);

 private:
  std::array<double, kSmsOfGpc + 1> sectors_{};
};

/// Share of reads that reach L2 if `sms` SMs of a GPC read a sector at random times within
/// `spread_ns`. Device memory serves `dram_share` of the reads that reach L2.
double share_to_l2(std::size_t sms, double spread_ns, double dram_share);

/// Share over all reads. `dram_share` is the share of reads, before they join, that device memory
/// would serve.
double share_to_l2(const ReadsBySms& reads, double spread_ns, double dram_share);

}  // namespace gpuexp
