#include "model/kernel_times.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

bool has_equal_traffic(const KernelTraffic& a, const KernelTraffic& b) {
  return a.buffers == b.buffers && a.dram.read == b.dram.read &&
         a.dram.read_scattered == b.dram.read_scattered && a.dram.written == b.dram.written;
}

}  // namespace

const KernelCodeTime* KernelTimes::find(const ResidentKernel& kernel,
                                        const KernelTraffic& traffic) const {
  const std::vector<std::int64_t> identity = identity_of(*kernel.step);
  const auto found = std::ranges::find_if(timed_, [&](const Timed& timed) {
    return timed.blocks_per_sm == kernel.blocks_per_sm && timed.identity == identity &&
           has_equal_traffic(timed.traffic, traffic);
  });
  return found == timed_.end() ? nullptr : &found->time;
}

void KernelTimes::keep(const ResidentKernel& kernel, const KernelTraffic& traffic,
                       const KernelCodeTime& time) {
  timed_.push_back({identity_of(*kernel.step), kernel.blocks_per_sm, traffic, time});
}

}  // namespace gpuexp
