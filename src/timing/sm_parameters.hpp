// Rates and latencies of one SM, in cycles of the SM.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "device/ceilings.hpp"
#include "device/unified_memory.hpp"
#include "timing/atomic_units.hpp"
#include "timing/latency_spread.hpp"

namespace gpuexp {

/// Rates and hit rates beyond L1 for one SM's loads and stores, while all SMs use L2 equally.
struct BehindL1 {
  /// Share of a block's distinct requested sectors that come from DRAM.
  double dram_read_share = 1;
  /// Share of a block's distinct written sectors that are written to DRAM.
  double dram_write_share = 1;
  double l2_sectors = 0;      ///< number of sectors that L2 keeps for the SM
  double l2_read_clocks = 0;  ///< cycles per sector
  double l2_write_clocks = 0;
  // Cycles of one L2 port, which serves sectors that are new in L2, from DRAM or from SMs.
  double l2_fill_clocks = 0;         ///< per requested sector, including sectors fetched with it
  double l2_first_write_clocks = 0;  ///< per sector that the SM's block writes for the first time
  double dram_read_clocks = 0;
  double dram_write_clocks = 0;
  AtomicRates atomics;
};

/// Times of asynchronous operations, in cycles. Measured on an H200, and similar on an H100
/// (docs/studies/asynchronous/asynchronous.csv); other GPUs are assumed to be similar.
struct AsyncParameters {
  /// From SYNCS.PHASECHK, or from the end of the phase if that is later, to the check's result.
  double phase_check = 34;
  double arrival = 23;  ///< until an arrival reaches the mbarrier
  /// The bytes of a bulk copy reach shared memory this much earlier than loaded bytes reach
  /// registers.
  double copy_ahead = 44;
  double tensor_copy_delay = 125;  ///< until a tensor copy requests its first row
  double copy_row = 1;             ///< copy engine: minimum per row of a copy to shared memory
  double copy_line = 128. / 108;   ///< copy engine: per 128 bytes copied to shared memory
  double copied_sector = 1;        ///< copy engine: per at most 32 bytes copied from shared memory
  double reduced_sector = 1.25;    ///< copy engine: per at most 32 bytes that L2 reduces
  /// From UTMACMDFLUSH until the first bytes have been read from shared memory.
  double copy_out = 38;
  double product_latency = 50;  ///< latency of wgmma beyond its multiply-adds
  double product_latency_register_a = 40;
  double product_gap_register_a = 4;  ///< between products of a warpgroup whose A is in registers
  double min_product_register_a = 17;
  /// Maximum number of products that a warpgroup has started and not finished.
  std::size_t max_products = 7;
  double product_drain = 15;  ///< part of product_latency after the multiply-adds
  /// From the last arrival at a cluster barrier until warps continue, for blocks of one warp.
  double cluster_barrier = 66;
  double cluster_barrier_warp = 2.2;     ///< added for each further warp of a block
  double remote_latency = 200;           ///< latency of a load from another block's shared memory
  double remote_load_line = 128. / 17;   ///< per 128 bytes from another block's shared memory
  double remote_store_line = 128. / 20;  ///< per 128 bytes to another block's shared memory
  double fence = 260;                    ///< duration of a GPU-wide MEMBAR with no pending stores
};

struct SmParameters {
  double clock_hz = 0;
  SmRates rates;  ///< warp instructions per cycle
  /// Operations per cycle of the SM's tensor cores by mma.sync; empty if not known.
  std::array<std::optional<double>, kPipeCount> tensor_operations{};
  std::array<std::optional<double>, kPipeCount> wgmma_operations{};  ///< the same for wgmma
  // Cycles from an instruction to an instruction that needs its result.
  double l1_latency = 0;
  double shared_latency = 0;
  double l2_latency = 0;    ///< mean of all lines
  double dram_latency = 0;  ///< mean of all lines
  double dram_queue = 0;    ///< service time in the queues of DRAM (timing/dram_queue.hpp)
  /// Additional cycles of the first load of a kernel that reaches L2.
  double first_load = 0;
  LatencySpread l2_spread = kNoSpread;
  LatencySpread dram_spread = kNoSpread;
  double barrier_latency = 0;    ///< from one barrier to the next, for a block of 256 threads
  double data_stage_clocks = 1;  ///< per wavefront of 128 bytes
  std::int64_t l1_bytes = 0;     ///< L1 capacity that shared memory leaves
  SectorRepeats repeats;
  /// From the end of a block to the first instruction of the next block in its slot.
  double block_gap = 0;
  double block_interval = 0;  ///< minimum mean time between block starts on one SM
  BehindL1 behind;
  AsyncParameters async;
};

}  // namespace gpuexp
