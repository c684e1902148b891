// What the kernels of a launch move between L2 and DRAM, from the addresses that their blocks ask
// for: no figure here is declared.
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

/// A kernel of a launch.
struct ResidentKernel {
  const KernelStep* step = nullptr;
  int blocks_per_sm = 0;
  UnifiedMemory memory = {};  ///< all 0 where the size is not known
  bool keeps_global = false;  ///< what it stores to global memory decides, in other kernels
};

/// What one kernel of a launch touches.
struct KernelFootprint {
  std::shared_ptr<const GridFootprint> grid;
  std::int64_t resident = 1;  ///< blocks, on all SMs
  std::int64_t l1_bytes = 0;  ///< for each block of an SM
  std::int64_t sms = 1;
};

/// Of the kernels in order. Those with the same code, shape and arguments share one.
struct LaunchFootprint {
  std::vector<KernelFootprint> kernels;
  std::string refusal;  ///< why it is not known; empty where it is
};

/// Which kernel is launched, its shape and its arguments: what two launches that do the same have
/// in common.
std::vector<std::int64_t> identity_of(const KernelStep& step);

/// By identity_of(), of kernels on the same buffers.
using GridFootprints = std::map<std::vector<std::int64_t>, std::shared_ptr<const GridFootprint>>;

/// The simulator has executed the steps before the launch. Those that are `known` are not looked at
/// again, and others become so; null: nobody asks. Throws sim::Fault, and sim::Stopped where the
/// simulator's `stop` says so.
LaunchFootprint footprint_of(sim::Simulator& simulator, const std::vector<ResidentKernel>& kernels,
                             const DeviceSpec& device, GridFootprints* known = nullptr);

/// Of one kernel.
struct KernelTraffic {
  DramBytes dram;
  // Sectors that each block reads and writes, counted once for each block.
  double read_sectors = 0;
  double written_sectors = 0;
  ReadsBySms reads_by_sms;  ///< the sectors that blocks read, on any GPC
  /// Buffers that it touches, each once: where it writes to what it reads, L1 finds more.
  std::size_t buffers = 0;

  KernelTraffic& operator+=(const KernelTraffic& more);
  KernelTraffic& operator*=(double times);
};

/// `mode` says what L2 holds at the start: nothing, or what the same launch has left there; of a
/// graph's launches, what one with other buffers has. By kernel. Throws sim::Stopped where `stop`
/// says so.
std::vector<KernelTraffic> launch_traffic(const LaunchFootprint& launch, Mode mode,
                                          const DeviceSpec& device,
                                          const std::function<bool()>& stop);

}  // namespace gpuexp
