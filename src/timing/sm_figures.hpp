// What one SM can do, in clocks of its own: the figures that times are made from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "timing/latency_spread.hpp"

namespace gpuexp {

/// What a kernel's loads and stores find behind L1, and at what rate: of one SM, while so many
/// others ask for as much.
struct BehindL1 {
  double dram_read_share = 1;   ///< of the sectors that a block asks L2 for, each once
  double dram_write_share = 1;  ///< of those that it writes, likewise
  double l2_sectors = 0;        ///< that L2 keeps for the SM
  double l2_read_clocks = 0;    ///< of a sector
  double l2_write_clocks = 0;
  // What comes to L2 for the first time, from DRAM or from SMs, it takes through one port.
  double l2_fill_clocks = 0;         ///< of a sector that is asked for, and those fetched with it
  double l2_first_write_clocks = 0;  ///< of one that its block writes for the first time
  double dram_read_clocks = 0;
  double dram_write_clocks = 0;
};

struct SmFigures {
  double clock_hz = 0;
  SmRates rates;  ///< warp instructions per clock
  /// Operations per clock of the SM's tensor cores by mma.sync; empty: not known.
  std::array<std::optional<double>, kPipeCount> tensor_operations{};
  // Clocks from an instruction to one that needs its result.
  double l1_latency = 0;
  double shared_latency = 0;
  double l2_latency = 0;    ///< the mean over lines
  double dram_latency = 0;  ///< likewise
  LatencySpread l2_spread = kNoSpread;
  LatencySpread dram_spread = kNoSpread;
  double barrier_latency = 0;    ///< from a barrier to the next of a block of 256 threads
  double data_stage_clocks = 1;  ///< of a wavefront of 128 bytes
  std::int64_t l1_bytes = 0;     ///< that shared memory leaves
  double block_gap = 0;          ///< from the end of a block to its successor's first instruction
  double block_interval = 0;     ///< between starts of blocks on one SM, at least, on average
  BehindL1 behind;
};

/// Bytes of L1 beside `shared_bytes` of shared memory that resident blocks hold: what the smallest
/// carve-out leaves that holds them (CUDA C++ Programming Guide, Shared Memory of compute
/// capability 8.x and 9.0). Empty where the size of the memory is not known.
std::optional<std::int64_t> l1_bytes(const DeviceSpec& device, std::int64_t shared_bytes);

}  // namespace gpuexp
