// What an L2 cache keeps and what it fetches: rules of thumb that hold for every kernel alike, each
// with where it was seen. C++17, free of CUDA.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"

namespace gpuexp {

/// Bytes that L2 reads from DRAM at least when a 32-byte sector is missing: 64 where
/// cudaLimitMaxL2FetchGranularity starts at 64 (A100, H100 and H200, and later), else 32. An H200
/// reads 64 bytes per value at strides of 64 bytes and more.
std::int64_t l2_fetch_bytes(const DeviceSpec& device);

/// Of L2, what is dirty at most: written_back() says where that was seen.
inline constexpr double kDirtyShare = 0.25;

/// Of so many bytes that a launch writes to whole lines, those that reach DRAM before it ends: what
/// L2 holds dirty at the end is written later. About a quarter of an H200's L2 stays: of 268 MB
/// written it had 243 MB to 260 MB in DRAM, of 67 MB 52 MB to 62 MB, of 17 MB 0 to 10 MB.
double written_back(double bytes, const DeviceSpec& device);

/// The share of what is read that is still in L2 after a launch that reads and writes so many
/// bytes, for the next launch of the same. An H200 (60 MiB) reads nothing again from DRAM up to 21
/// MB, a quarter of it at 25 MB, two thirds at 42 MB and everything from 50 MB on: both halves of
/// the chip keep a copy of what both read. Linear in between.
double kept_share(double bytes, const DeviceSpec& device);
/// Likewise, of so many times what L2 can hold.
double kept_share_at(double times_l2);
/// Of what L2 can hold, after which half is kept.
inline constexpr double kHalfKept = 0.575;

/// What keeps the blocks that run at one time at the same place of their work.
enum class StallPattern {
  none,        ///< nothing: warps go on as their own loads arrive
  loads,       ///< barriers, at which a block waits for its loads each time
  arithmetic,  ///< barriers, and loads that arrive before they are needed
};

/// Of the sectors that SMs ask for, those that L2 sees. Where blocks in step ask for the same lines
/// at nearly the same time, requests of neighbouring SMs reach L2 as one (Nsight Compute's memory
/// chart calls the unit L2 request coalescer): on an H200, matrix products whose blocks meet at
/// barriers show L2 0.6 to 0.95 of the sectors that their SMs receive, those without barriers all
/// of them.
double seen_by_l2(double sectors, StallPattern stall_pattern);

/// How the blocks of a matrix product C = A·B go over the tiles of C: down a column of tiles, then
/// the next, or down so many rows of tiles, then the next column, and so on.
struct PanelWalk {
  double rows;                ///< tiles of C
  double columns;             ///< likewise
  double row_panel_bytes;     ///< of A, that the tiles of a row read
  double column_panel_bytes;  ///< of B, that those of a column read
  double output_bytes;        ///< of C
  double group_rows;          ///< rows of tiles that are walked down; `rows` or more: all
  double blocks_at_a_time;    ///< on all SMs
  StallPattern stall_pattern;
};

/// Bytes that DRAM delivers for A and B. Each panel comes once where A, B and C fit into L2
/// together. Otherwise each round of blocks reads the panels of its rows and columns anew, once
/// where blocks advance as their arithmetic does, and 1 to 2 times where they wait for
/// loads and drift apart (H200, 4096³ and 8192³ in fp32 and bf16: 1.0 to 1.3, and 1.0 to 2.0).
/// Blocks that nothing holds together share rows of A no longer than L2 holds the rows of a whole
/// round: beyond that every tile reads its own.
double panel_bytes_read(const PanelWalk& walk, const DeviceSpec& device);

/// Bytes of A and B that blocks at work at one time ask for, each line once, over all rounds of
/// blocks: all come from DRAM where they are read for the first time or have been evicted.
double panel_bytes_asked(const PanelWalk& walk);

}  // namespace gpuexp
