// What one SM can do, in clocks of its own: the figures that times are made from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "device/ceilings.hpp"
#include "device/unified_memory.hpp"
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

/// What is carried out beside the warps, in clocks. Measured on an H200 and alike on an H100
/// (docs/studies/asynchronous/asynchronous.csv); other GPUs are taken to be alike.
struct AsyncFigures {
  double phase_check = 34;  ///< from SYNCS.PHASECHK, or the phase's end behind it, to its result
  double arrival = 23;      ///< from an arrival to the mbarrier
  /// By which bytes of a bulk copy come to shared memory before a load's come to registers.
  double copy_ahead = 44;
  double tensor_copy_behind = 125;  ///< of a tensor copy, until it asks for its first row
  double copy_row = 1;              ///< of the copy engine, for a row of a tensor copy, at least
  double copy_line = 128. / 108;    ///< of it, for 128 bytes to shared memory
  double copied_sector = 1;         ///< for 32 bytes, or part of them, from shared memory
  double reduced_sector = 1.25;     ///< likewise, where L2 is to add them
  double copy_out = 38;             ///< from UTMACMDFLUSH until the first has been read
  double product_latency = 50;      ///< of wgmma, beside the multiply-adds
  double product_latency_register_a = 40;
  double product_gap_register_a = 4;  ///< between products of a warpgroup
  double least_product_register_a = 17;
  std::size_t most_products = 7;        ///< that a warpgroup has started, and that are not computed
  double product_drain = 15;            ///< of the latency, behind the multiply-adds
  double cluster_barrier = 66;          ///< from the last arrival on, of blocks of one warp
  double cluster_barrier_warp = 2.2;    ///< for each further warp of a block
  double remote_latency = 200;          ///< of a load from another block's shared memory
  double remote_load_line = 128. / 17;  ///< for 128 bytes from there
  double remote_store_line = 128. / 20;  ///< for 128 bytes to there
  double fence = 260;                    ///< MEMBAR of the GPU, with nothing to wait for
};

struct SmFigures {
  double clock_hz = 0;
  SmRates rates;  ///< warp instructions per clock
  /// Operations per clock of the SM's tensor cores by mma.sync; empty: not known.
  std::array<std::optional<double>, kPipeCount> tensor_operations{};
  std::array<std::optional<double>, kPipeCount> wgmma_operations{};  ///< by wgmma
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
  SectorRepeats repeats;
  double block_gap = 0;       ///< from the end of a block to its successor's first instruction
  double block_interval = 0;  ///< between starts of blocks on one SM, at least, on average
  BehindL1 behind;
  AsyncFigures async;
};

}  // namespace gpuexp
