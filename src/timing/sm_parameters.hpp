// Rates and latencies of one SM, in its own cycles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "device/ceilings.hpp"
#include "device/unified_memory.hpp"
#include "timing/latency_spread.hpp"

namespace gpuexp {

/// Rates and hit shares of one SM's loads and stores beyond L1, while other SMs load it equally.
struct BehindL1 {
  double dram_read_share = 1;   ///< share of the different sectors that a block requests
  double dram_write_share = 1;  ///< share of the different sectors that a block writes
  double l2_sectors = 0;        ///< sectors that L2 keeps for the SM
  double l2_read_clocks = 0;    ///< per sector
  double l2_write_clocks = 0;
  // One port of L2 serves sectors that are new in L2, from DRAM or from SMs.
  double l2_fill_clocks = 0;         ///< per requested sector, including those fetched with it
  double l2_first_write_clocks = 0;  ///< per sector that its block writes for the first time
  double dram_read_clocks = 0;
  double dram_write_clocks = 0;
};

/// Figures of asynchronous operations, in cycles. Measured on an H200, and similar on an H100
/// (docs/studies/asynchronous/asynchronous.csv); other GPUs are assumed to be similar.
struct AsyncParameters {
  double phase_check = 34;  ///< from SYNCS.PHASECHK, or a later end of the phase, to its result
  double arrival = 23;      ///< until an arrival reaches the mbarrier
  /// A bulk copy's bytes reach shared memory this much earlier than a load's reach registers.
  double copy_ahead = 44;
  double tensor_copy_delay = 125;  ///< until a tensor copy requests its first row
  double copy_row = 1;             ///< the copy engine, at least, for a row of a tensor copy
  double copy_line = 128. / 108;   ///< the copy engine, for 128 bytes to shared memory
  double copied_sector = 1;        ///< for at most 32 bytes from shared memory
  double reduced_sector = 1.25;    ///< for at most 32 bytes that L2 reduces
  double copy_out = 38;            ///< from UTMACMDFLUSH until the first bytes have been read
  double product_latency = 50;     ///< wgmma, in addition to the multiply-adds
  double product_latency_register_a = 40;
  double product_gap_register_a = 4;  ///< between products of a warpgroup
  double min_product_register_a = 17;
  std::size_t max_products = 7;          ///< maximum started by a warpgroup and not computed
  double product_drain = 15;             ///< part of the latency after the multiply-adds
  double cluster_barrier = 66;           ///< from the last arrival, for blocks of one warp
  double cluster_barrier_warp = 2.2;     ///< for each further warp of a block
  double remote_latency = 200;           ///< load from another block's shared memory
  double remote_load_line = 128. / 17;   ///< 128 bytes from another block's shared memory
  double remote_store_line = 128. / 20;  ///< 128 bytes to another block's shared memory
  double fence = 260;                    ///< MEMBAR of the GPU, with no pending stores
};

struct SmParameters {
  double clock_hz = 0;
  SmRates rates;  ///< warp instructions per cycle
  /// Operations per cycle of the SM's tensor cores by mma.sync; empty if not known.
  std::array<std::optional<double>, kPipeCount> tensor_operations{};
  std::array<std::optional<double>, kPipeCount> wgmma_operations{};  ///< by wgmma
  // Cycles from an instruction to one that needs its result.
  double l1_latency = 0;
  double shared_latency = 0;
  double l2_latency = 0;    ///< mean of all lines
  double dram_latency = 0;  ///< mean of all lines
  LatencySpread l2_spread = kNoSpread;
  LatencySpread dram_spread = kNoSpread;
  double barrier_latency = 0;    ///< from a barrier to the next of a block of 256 threads
  double data_stage_clocks = 1;  ///< per wavefront of 128 bytes
  std::int64_t l1_bytes = 0;     ///< what shared memory leaves
  SectorRepeats repeats;
  double block_gap = 0;       ///< from the end of a block to its successor's first instruction
  double block_interval = 0;  ///< minimum mean time between block starts on one SM
  BehindL1 behind;
  AsyncParameters async;
};

}  // namespace gpuexp
