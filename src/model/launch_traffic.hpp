// Bytes that the kernels of a launch move between L2 and DRAM, from the addresses of their blocks,
// not from declared figures.
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
  UnifiedMemory memory = {};  ///< all 0 if the size is not known
  bool keeps_global = false;  ///< other kernels depend on what it stores to global memory
};

/// Footprint of one kernel of a launch.
struct KernelFootprint {
  std::shared_ptr<const GridFootprint> grid;
  std::int64_t resident = 1;  ///< blocks on all SMs
  std::int64_t l1_bytes = 0;  ///< for each resident block
  std::int64_t sms = 1;
};

/// Footprints of the kernels in order. Kernels with the same code, shape and arguments share one.
struct LaunchFootprint {
  std::vector<KernelFootprint> kernels;
  std::string refusal;  ///< why it is not known; empty if it is
};

/// Kernel, shape and arguments of a launch, equal for launches that do the same.
std::vector<std::int64_t> identity_of(const KernelStep& step);

/// By identity_of(), for kernels on the same buffers.
using GridFootprints = std::map<std::vector<std::int64_t>, std::shared_ptr<const GridFootprint>>;

/// The simulator has executed the steps before the launch. Reuses and extends `known` unless it is
/// null. Throws sim::Fault, and sim::Stopped if the simulator's `stop` returns true.
LaunchFootprint footprint_of(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                             const DeviceSpec& device, GridFootprints* known = nullptr);

/// Traffic of one kernel.
struct KernelTraffic {
  DramBytes dram;
  // Sectors that blocks read and write, counted once for each block.
  double read_sectors = 0;
  double written_sectors = 0;
  ReadsBySms reads_by_sms;  ///< read sectors, in any GPC
  /// Number of different buffers. A kernel that writes what it reads has more hits in L1.
  std::size_t buffers = 0;

  KernelTraffic& operator+=(const KernelTraffic& more);
  KernelTraffic& operator*=(double times);
};

/// Traffic of each kernel. `mode` determines what L2 holds at the start: nothing, data of the same
/// launch, or in a graph, data of one with other buffers. Throws sim::Stopped if `stop` returns
/// true.
std::vector<KernelTraffic> launch_traffic(const LaunchFootprint& launch, Mode mode,
                                          const DeviceSpec& device,
                                          const std::function<bool()>& stop);

}  // namespace gpuexp
