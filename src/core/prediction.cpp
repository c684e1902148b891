#include "core/prediction.hpp"

#include <algorithm>

namespace gpuexp {

double least_dram_bytes(const Work& work, Mode mode, const DeviceSpec& device) {
  const double l2 = static_cast<double>(device.l2_bytes);
  const double written = std::max(0.0, work.moved_written - l2);
  // Rotation through copies clears L2 as a flush does, but what it rotates through may be capped.
  const bool may_hit = mode == Mode::warm || mode == Mode::graph;
  const double read = may_hit ? std::max(0.0, work.moved_read - l2) : work.moved_read;
  return read + written;
}

namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

// Pipes run side by side, so the slowest one binds, not their sum.
void limit_by_compute(const Work& work, const DeviceSpec& device, Prediction& p) {
  for (const Operations& operations : work.operations) {
    const auto peak = device.peak(operations.pipe);
    if (!peak || operations.count <= 0) continue;
    const double time_us = operations.count / *peak * kMicrosecondsPerSecond;
    if (p.compute_time_us && *p.compute_time_us >= time_us) continue;
    p.compute_time_us = time_us;
    p.limit_time_us = time_us;
    p.limit_by = std::string(name_of(operations.pipe));
  }
}

void limit_by_dram(const Work& work, Mode mode, const DeviceSpec& device, Prediction& p) {
  const double bytes = least_dram_bytes(work, mode, device);
  if (bytes <= 0 || device.memory_bytes_per_s <= 0) return;
  p.dram_time_us = bytes / device.memory_bytes_per_s * kMicrosecondsPerSecond;
  if (p.limit_time_us && *p.limit_time_us >= *p.dram_time_us) return;
  p.limit_time_us = p.dram_time_us;
  p.limit_by = "dram";
}

}  // namespace

Prediction predict(const Work& work, const std::vector<Shape>& shapes, Mode mode,
                   const DeviceSpec& device, const KernelResources& resources) {
  Prediction p;
  p.work = work;
  limit_by_compute(work, device, p);
  limit_by_dram(work, mode, device, p);
  const auto largest = std::max_element(
      shapes.begin(), shapes.end(),
      [](const Shape& a, const Shape& b) { return a.grid.count() < b.grid.count(); });
  if (largest != shapes.end()) {
    p.shape = *largest;
    p.occupancy = occupancy(*largest, device, resources);
    if (p.occupancy) p.waves = waves(*largest, device, *p.occupancy);
  }
  return p;
}

}  // namespace gpuexp
