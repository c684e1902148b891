// Bytes that the kernels of a launch move between L2 and DRAM, computed from the accessed
// addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/unified_memory.hpp"
#include "model/l2_replay.hpp"
#include "model/merged_reads.hpp"
#include "sim/simulator.hpp"
#include "timing/grid_footprint.hpp"

namespace gpuexp {

struct ResidentKernel {
  const KernelStep* step = nullptr;
  int blocks_per_sm = 0;
  UnifiedMemory memory = {};  ///< all 0 if the capacity is unknown
  bool keeps_global = false;  ///< other kernels depend on what this kernel stores to global memory
};

struct KernelFootprint {
  std::shared_ptr<const GridFootprint> grid;
  std::int64_t resident = 1;
  std::int64_t l1_bytes = 0;  ///< L1 capacity per resident block
  std::int64_t sms = 1;
};

/// Footprints of the kernels, in order. Kernels with equal code, shape and arguments share one
/// footprint.
struct LaunchFootprint {
  std::vector<KernelFootprint> kernels;
  std::string refusal;  ///< why the footprint is unknown; empty if it is known
};

/// Identifies a launch by its kernel, shape and arguments.
std::vector<std::int64_t> identity_of(const KernelStep& step);

using GridFootprints = std::map<std::vector<std::int64_t>, std::shared_ptr<const GridFootprint>>;

/// Computes the footprint of a launch. The simulator must have executed the steps before the
/// launch. Reuses and extends `known` unless it is null. Throws sim::Fault, and sim::Stopped if the
/// simulator's `stop` returns true.
LaunchFootprint footprint_of(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                             const DeviceSpec& device, GridFootprints* known = nullptr);

struct KernelTraffic {
  DramBytes dram;
  // Sums over all blocks of the number of distinct sectors that the block reads or writes.
  double read_sectors = 0;
  double written_sectors = 0;
  ReadsBySms reads_by_sms;  ///< sector reads, by the number of SMs that read the sector
  /// Number of distinct buffers. A kernel that writes the buffer that it reads has more hits in L1.
  std::size_t buffers = 0;

  KernelTraffic& operator+=(const KernelTraffic& more);
  KernelTraffic& operator*=(double times);
};

/// Traffic of each kernel. `mode` determines what L2 holds at the start: nothing, data of the
/// previous launch, or in a graph, data of a launch with other buffers. Throws sim::Stopped if
/// `stop` returns true.
std::vector<KernelTraffic> launch_traffic(const LaunchFootprint& launch, Mode mode,
                                          const DeviceSpec& device,
                                          const std::function<bool()>& stop);

}  // namespace gpuexp
