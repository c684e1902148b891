// What the kernels made of register_tile.cuh move: the accesses of its slices, fragments and sums.
#pragma once

#include "kernels/common/gemm_traffic.hpp"
#include "kernels/common/register_tile.cuh"

namespace gpuexp::register_tile {

/// Row and column of a lane in its warp, as place_of has them: there the two are written out,
/// because nvcc 13.0 gives vectorized and double_buffered other registers and order when they are
/// called.
template <class Tile>
int lane_m(int lane) {
  return Tile::kPairedLanes ? lane % 2 + lane / (2 * Tile::kLanesN) * 2 : lane / Tile::kLanesN;
}
template <class Tile>
int lane_n(int lane) {
  return Tile::kPairedLanes ? lane / 2 % Tile::kLanesN : lane % Tile::kLanesN;
}

template <class Tile>
TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k,
                           StallPattern stall_pattern) {
  TiledProduct p{};
  p.m = m;
  p.n = n;
  p.k = k;
  p.tile_m = Tile::kBlockM;
  p.tile_n = Tile::kBlockN;
  p.tile_k = Tile::kBlockK;
  p.warps = Tile::kThreads / kLanes;
  p.resident = Tile::kBlocksPerSm;
  p.stall_pattern = stall_pattern;
  p.group_rows = Tile::kGroupRows;
  return p;
}

/// Loads of A in pieces of so many elements of k, of B kWidth floats per lane. Rows and columns
/// beyond C are those at its edge again: requests of their own, but no sectors.
template <class Tile>
Accesses slice_loads(const TiledProduct& p, const RowPieces& a, int width) {
  TiledProduct whole = p;
  whole.pitch_b = p.n;
  whole.m = p.tile_m * ceil_div(p.m, p.tile_m);
  whole.n = p.tile_n * ceil_div(p.n, p.tile_n);
  const std::int64_t floats = std::int64_t{kLanes} * width;
  const RowPieces b{std::min<std::int64_t>(Tile::kBlockN, floats),
                    std::max<std::int64_t>(1, floats / Tile::kBlockN)};
  return inside(a_rows(whole, a), p.rows_inside()) + inside(b_rows(whole, b), p.columns_inside());
}

/// Fragments::load, Tile::kBlockK times: of one warp.
template <class Tile>
Accesses fragment_loads() {
  const Accesses a = shared_access(16, [](int lane) { return 16 * lane_m<Tile>(lane); });
  const Accesses b = shared_access(16, [](int lane) { return 16 * lane_n<Tile>(lane); });
  return Tile::kBlockK * (Tile::kThreadM / 4.0 * a + Tile::kThreadN / 4.0 * b);
}

/// StagedSlices::put: of one warp.
template <class Tile>
Accesses staged_stores(int width) {
  const int chunks_a = Tile::kBlockK / width;
  const double count_a = 1.0 * Tile::kBlockM * chunks_a / Tile::kThreads;
  const double count_b = 1.0 * Tile::kBlockK * Tile::kBlockN / width / Tile::kThreads;
  const Accesses a = shared_access(
      4, [=](int lane) { return 4 * (lane % chunks_a * width * Tile::kPitchA + lane / chunks_a); });
  return count_a * width * a + count_b * shared_access(4 * width);
}

/// Accumulators::store over the whole grid. The compiler stores float by float, whatever the width:
/// lanes that are neighbours in a row store every fourth float of it, the last one float of its
/// four.
template <class Tile>
Accesses sums_stores(const TiledProduct& p) {
  const double requests =
      p.all_warps() * p.rows_inside() * p.columns_inside() * Tile::kThreadM * Tile::kThreadN;
  return requests * rows_access(Tile::kLanesM, 16 * Tile::kLanesN - 12, p.c_pitch_bytes());
}

/// Of kernels that stage slices through registers.
template <class Tile>
Traffic staged_traffic(const TiledProduct& p, int width, const WarpCode& code,
                       const DeviceSpec& device) {
  Traffic t = product_traffic(p, code, device);
  const double iterations = p.all_warps() * p.slices();
  t.global_load = slice_loads<Tile>(p, {Tile::kBlockK, kLanes * width / Tile::kBlockK}, width);
  t.global_store = sums_stores<Tile>(p);
  t.shared_load = iterations * fragment_loads<Tile>();
  t.shared_store = iterations * staged_stores<Tile>(width);
  return t;
}

/// Of kernels that copy slices by cp.async. What it writes to shared memory is not counted among
/// shared accesses.
template <class Tile>
Traffic async_traffic(const TiledProduct& p, int width, const WarpCode& code,
                      const DeviceSpec& device) {
  constexpr std::int64_t kLanesK = AsyncSlices<Tile, 4>::kLanesK;
  Traffic t = product_traffic(p, code, device);
  t.global_load = by_cp_async(slice_loads<Tile>(p, {kLanesK, kLanes / kLanesK}, width));
  t.global_store = sums_stores<Tile>(p);
  t.shared_load = p.all_warps() * (p.slices() + 1.0 / Tile::kBlockK) * fragment_loads<Tile>();
  // Copies of 16 bytes pass L1 by; narrower ones are its misses, which reach L2 each for itself.
  if (width < 4) t.l2_read_sectors = panel_sectors(p);
  return t;
}

}  // namespace gpuexp::register_tile
