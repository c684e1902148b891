// Share of the SMs' reads that reach L2. The SMs of a GPC share an L2 Request Coalescer (Nsight
// Compute, Profiling Guide): a read of a sector joins a read of it that is in flight, and L2
// receives one of each four.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuexp {

/// A GPC of an H100 or H200 has 16 or 18 SMs (docs/studies/caches).
inline constexpr std::size_t kSmsOfGpc = 16;

/// The GPC of an SM. SMs are numbered by their first blocks, which fill one GPC after another.
std::int64_t gpc_of(std::int64_t sm, std::int64_t sms);

/// Read sectors by how many SMs of a GPC, at most kSmsOfGpc, read them at the same time.
class ReadsBySms {
 public:
  void add(std::size_t sms, double sectors);
  double of(std::size_t sms) const { return sectors_.at(sms); }

  ReadsBySms& operator+=(const ReadsBySms& more);
  ReadsBySms& operator*=(double times);

 private:
  std::array<double, kSmsOfGpc + 1> sectors_{};
};

/// Share that reaches L2 if `sms` SMs of a GPC read a sector at random times within `spread_ns`.
/// Device memory serves `dram_share` of the reads that reach L2.
double share_to_l2(std::size_t sms, double spread_ns, double dram_share);

/// The same share for all reads. Device memory serves `dram_share` of the reads before they join.
double share_to_l2(const ReadsBySms& reads, double spread_ns, double dram_share);

}  // namespace gpuexp
