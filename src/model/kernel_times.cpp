#include "model/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/hardware_sizes.hpp"

namespace gpuexp {

namespace {

/// Whether the DRAM traffic of two kernels differs by at most `share` of the requested bytes.
bool is_similar(const KernelTraffic& a, const KernelTraffic& b, double share) {
  const double all = kSectorBytes * (a.read_sectors + a.written_sectors);
  const auto near = [&](double x, double y) { return std::abs(x - y) <= share * all; };
  return a.buffers == b.buffers && near(a.dram.read, b.dram.read) &&
         near(a.dram.written, b.dram.written);
}

}  // namespace

const KernelCodeTime* KernelTimes::find(const ResidentKernel& kernel,
                                        const KernelTraffic& traffic) {
  constexpr double kMaxDifference = 0.002;  // too small to measure
  const std::vector<std::int64_t> identity = identity_of(*kernel.step);
  const auto found = std::find_if(timed_.begin(), timed_.end(), [&](const Timed& timed) {
    return timed.blocks_per_sm == kernel.blocks_per_sm &&
           is_similar(timed.traffic, traffic, timed.variant == variant_ ? kMaxDifference : 0) &&
           timed.identity == identity;
  });
  if (found == timed_.end()) return nullptr;
  if (found->variant == variant_) return &found->time;
  Timed own = *found;
  own.variant = variant_;
  return &timed_.emplace_back(std::move(own)).time;
}

void KernelTimes::keep(const ResidentKernel& kernel, const KernelTraffic& traffic,
                       const KernelCodeTime& time) {
  timed_.push_back({variant_, identity_of(*kernel.step), kernel.blocks_per_sm, traffic, time});
}

}  // namespace gpuexp
