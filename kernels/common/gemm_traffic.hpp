// What tiled matrix products have in common in what they move: panels of A and B through the
// caches, instructions by iterations of a loop. Pure host code.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "family/warp_access.hpp"
#include "model/l2_cache.hpp"

namespace gpuexp {

/// Instructions of a warp: those of an iteration of its loop, and all others.
struct LoopCount {
  double once = 0;
  double iteration = 0;
  double of(double iterations) const { return once + iterations * iteration; }
};

/// What the compiler made of a kernel (nvcc 13.0 for compute capability 9.0).
struct WarpCode {
  LoopCount instructions;
  LoopCount alu;
  LoopCount fma;
  double xu = 0;
};

/// C (m×n) = A (m×k) · B (k×n), row-major; a block computes a tile of C in slices along k.
struct TiledProduct {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t tile_m;
  std::int64_t tile_n;
  std::int64_t tile_k;
  std::int64_t warps;  ///< of a block
  int resident;        ///< blocks per SM, by registers and shared memory
  StallPattern stall_pattern;
  std::int64_t input_bytes = 4;   ///< of an element of A and of B
  std::int64_t output_bytes = 4;  ///< of one of C
  std::int64_t group_rows = 0;    ///< rows of tiles that blocks walk down together; 0: all
  std::int64_t pitch_b = 0;       ///< elements from row to row of B; 0: n

  double row_tiles() const { return static_cast<double>(ceil_div(m, tile_m)); }
  double column_tiles() const { return static_cast<double>(ceil_div(n, tile_n)); }
  double slices() const { return static_cast<double>(ceil_div(k, tile_k)); }
  double all_warps() const { return row_tiles() * column_tiles() * static_cast<double>(warps); }
  std::int64_t a_pitch_bytes() const { return k * input_bytes; }
  std::int64_t b_pitch_bytes() const { return (pitch_b > 0 ? pitch_b : n) * input_bytes; }
  std::int64_t c_pitch_bytes() const { return n * output_bytes; }
  /// Of the rows and columns that the tiles cover, those inside C.
  double rows_inside() const {
    return static_cast<double>(m) / (row_tiles() * static_cast<double>(tile_m));
  }
  double columns_inside() const {
    return static_cast<double>(n) / (column_tiles() * static_cast<double>(tile_n));
  }
};

/// The same requests where only a share of the lanes' addresses differ or are inside.
constexpr Accesses inside(const Accesses& a, double share) {
  return {a.requests, share * a.sectors, share * a.wavefronts, share * a.tag_wavefronts};
}

/// Requests that cover rows of so many elements in pieces of `piece`; a tile's row begins a piece.
inline double pieces(std::int64_t elements, std::int64_t tile, std::int64_t piece) {
  return static_cast<double>(elements / tile * ceil_div(tile, piece) +
                             ceil_div(elements % tile, piece));
}

/// The accesses of a block to the rows of its slices of A and B, over the whole grid: each in
/// pieces of so many elements of a row, and so many rows at a time.
struct RowPieces {
  std::int64_t elements;
  std::int64_t rows;
};
inline Accesses a_rows(const TiledProduct& p, const RowPieces& piece) {
  const std::int64_t elements = std::min(piece.elements, p.k);
  const double requests = p.column_tiles() * static_cast<double>(p.m) /
                          static_cast<double>(piece.rows) * pieces(p.k, p.tile_k, piece.elements);
  return requests *
         rows_access(static_cast<int>(piece.rows), elements * p.input_bytes, p.a_pitch_bytes());
}
inline Accesses b_rows(const TiledProduct& p, const RowPieces& piece) {
  const std::int64_t elements = std::min(piece.elements, p.n);
  const double requests = p.row_tiles() * static_cast<double>(p.k) /
                          static_cast<double>(piece.rows) * pieces(p.n, p.tile_n, piece.elements);
  return requests *
         rows_access(static_cast<int>(piece.rows), elements * p.input_bytes, p.b_pitch_bytes());
}
/// The stores of C, each element once.
inline Accesses c_rows(const TiledProduct& p, const RowPieces& piece) {
  const std::int64_t elements = std::min(piece.elements, p.n);
  const double requests = static_cast<double>(p.m) / static_cast<double>(piece.rows) *
                          pieces(p.n, p.tile_n, piece.elements);
  return requests *
         rows_access(static_cast<int>(piece.rows), elements * p.output_bytes, p.c_pitch_bytes());
}

/// Sectors that a grid asks of L2 where L1 keeps nothing but the end of a row of A that the next
/// slice begins in: each tile reads its rows of A from end to end and its part of every row of B.
inline double panel_sectors(const TiledProduct& p) {
  const double a = p.column_tiles() * static_cast<double>(p.m) *
                   rows_access(1, p.a_pitch_bytes(), p.a_pitch_bytes()).sectors;
  const std::int64_t width = std::min(p.tile_n, p.n) * p.input_bytes;
  const double b = p.row_tiles() * static_cast<double>(p.k) * p.column_tiles() *
                   p.columns_inside() * rows_access(1, width, p.b_pitch_bytes()).sectors;
  return a + b;
}

/// All of a kernel's traffic but its accesses to L1 and shared memory and its chain.
inline Traffic product_traffic(const TiledProduct& p, const WarpCode& code,
                               const DeviceSpec& device) {
  const auto bytes = [](std::int64_t rows, std::int64_t columns, std::int64_t size) {
    return static_cast<double>(rows * columns * size);
  };
  PanelWalk walk{};
  walk.rows = p.row_tiles();
  walk.columns = p.column_tiles();
  walk.row_panel_bytes = bytes(p.m, p.k, p.input_bytes) / walk.rows;
  walk.column_panel_bytes = bytes(p.k, p.n, p.input_bytes) / walk.columns;
  walk.output_bytes = bytes(p.m, p.n, p.output_bytes);
  walk.group_rows = p.group_rows > 0 ? static_cast<double>(p.group_rows) : walk.rows;
  walk.blocks_at_a_time = static_cast<double>(device.sm_count * p.resident);
  walk.stall_pattern = p.stall_pattern;
  Traffic t;
  t.dram_read_bytes = panel_bytes_read(walk, device);
  t.trips_to_dram = std::min(1.0, t.dram_read_bytes / panel_bytes_asked(walk));
  t.dram_write_bytes = written_back(walk.output_bytes, device);
  t.l2_read_sectors = seen_by_l2(panel_sectors(p), p.stall_pattern);
  t.l2_write_sectors =
      static_cast<double>(p.m) * rows_access(1, p.c_pitch_bytes(), p.c_pitch_bytes()).sectors;
  t.instructions = p.all_warps() * code.instructions.of(p.slices());
  t.alu = p.all_warps() * code.alu.of(p.slices());
  t.fma = p.all_warps() * code.fma.of(p.slices());
  t.xu = p.all_warps() * code.xu;
  t.in_step = p.stall_pattern == StallPattern::loads;
  t.works_ahead = p.stall_pattern == StallPattern::arithmetic;
  return t;
}

/// Round trips that all warps make to memory beyond L1.
inline void add_round_trips(Traffic& t, double trips) {
  t.chain.dram += trips * t.trips_to_dram;
  t.chain.l2 += trips * (1 - t.trips_to_dram);
}

}  // namespace gpuexp
