#include "model/prediction.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace gpuexp {

double min_dram_bytes(const Work& work, Mode mode, const DeviceSpec& device) {
  const double l2 = static_cast<double>(device.l2_bytes);
  const double written = std::max(0.0, work.moved_written - l2);
  // Rotating buffer copies evict L2 as a flush does, unless the number of copies is capped.
  const bool may_hit = follows_launches(mode);
  const double read = may_hit ? std::max(0.0, work.moved_read - l2) : work.moved_read;
  return read + written;
}

namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

void raise_limit(Limit& limit, double time_us, std::string_view by) {
  if (limit.time_us && *limit.time_us >= time_us) return;
  limit.time_us = time_us;
  limit.by = std::string(by);
}

// Pipes run concurrently, so the slowest pipe sets the limit.
void limit_by_compute(const Work& work, const Ceilings& ceilings, Limit& limit) {
  for (const Operations& operations : work.operations) {
    const auto peak = ceilings.ops_per_s[static_cast<std::size_t>(operations.pipe)];
    if (!peak || operations.count <= 0) continue;
    const double time_us = operations.count / *peak * kMicrosecondsPerSecond;
    if (limit.compute_us && *limit.compute_us >= time_us) continue;
    limit.compute_us = time_us;
    raise_limit(limit, time_us, name_of(operations.pipe));
  }
}

// `rate` must be the rate of the fastest path that the bytes may take.
void limit_by_bytes(double bytes, const std::optional<double>& rate,
                    std::optional<double> Limit::*own_us, std::string_view by, Limit& limit) {
  if (bytes <= 0 || !rate) return;
  limit.*own_us = bytes / *rate * kMicrosecondsPerSecond;
  raise_limit(limit, *(limit.*own_us), by);
}

// First the bytes that cross the bus in both directions at once, then the remaining bytes.
void limit_by_pcie(const Work& work, const Ceilings& ceilings, Limit& limit) {
  const auto to_device = ceilings.bus_to_device_bytes_per_s;
  const auto to_host = ceilings.bus_to_host_bytes_per_s;
  if ((work.to_device <= 0 && work.to_host <= 0) || !to_device || !to_host) return;
  const double both = std::min(work.to_device, work.to_host);
  const double alone = std::max(work.to_device, work.to_host) - both;
  const double alone_rate = work.to_device > work.to_host ? *to_device : *to_host;
  const double both_rate = ceilings.bus_both_bytes_per_s.value_or(std::max(*to_device, *to_host));
  limit.pcie_us = (both / both_rate + alone / alone_rate) * kMicrosecondsPerSecond;
  raise_limit(limit, *limit.pcie_us, "pcie");
}

}  // namespace

Limit limit_of(const Work& work, Mode mode, const DeviceSpec& device, const Ceilings& ceilings) {
  Limit limit;
  limit_by_compute(work, ceilings, limit);
  // Neither reads nor writes are faster than the larger of their two rates.
  limit_by_bytes(min_dram_bytes(work, mode, device),
                 std::max(ceilings.dram_read_bytes_per_s, ceilings.dram_write_bytes_per_s),
                 &Limit::dram_us, "dram", limit);
  limit_by_pcie(work, ceilings, limit);
  // Reads and writes use separate lanes of the link.
  limit_by_bytes(std::max(work.to_peers, work.from_peers),
                 std::max({ceilings.link_copy_bytes_per_s, ceilings.link_read_bytes_per_s,
                           ceilings.link_write_bytes_per_s}),
                 &Limit::links_us, "links", limit);
  return limit;
}

Prediction predict(const Work& work, const std::vector<Shape>& shapes, Mode mode,
                   const DeviceSpec& device, const CeilingSource& ceiling_source,
                   const KernelResources& resources) {
  Prediction p;
  p.work = work;
  p.limit = limit_of(work, mode, device, datasheet_ceilings(device));
  if (ceiling_source.is_measured)
    p.measured_limit = limit_of(work, mode, device, ceiling_source.ceilings);
  const auto largest = std::max_element(
      shapes.begin(), shapes.end(),
      [](const Shape& a, const Shape& b) { return a.grid.count() < b.grid.count(); });
  // `shapes` lacks kernels that are launched by kernels.
  const bool is_known = std::none_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
    const auto found = resources.find(shape.kernel, device.compute_capability());
    return found && found->resource.launches_kernels;
  });
  if (largest != shapes.end() && is_known) {
    p.kernel_launches = static_cast<std::int64_t>(shapes.size());
    p.shape = *largest;
    p.occupancy = occupancy(*largest, device, resources);
    if (p.occupancy) p.waves = waves(*largest, device, *p.occupancy);
  }
  return p;
}

}  // namespace gpuexp
