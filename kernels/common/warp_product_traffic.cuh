// What products of warp_product.cuh and mma_pipeline.cuh move: tiles into shared memory, fragments
// out of it, sums by way of slabs to C.
#pragma once

#include "kernels/common/gemm_traffic.hpp"
#include "kernels/common/mma_pipeline.cuh"

namespace gpuexp {

/// C (m×n) in tiles of T; elements of In and Out.
template <class T, class In, class Out>
TiledProduct tensor_product(std::int64_t m, std::int64_t n, std::int64_t k, int resident,
                            StallPattern stall_pattern) {
  TiledProduct p{};
  p.m = m;
  p.n = n;
  p.k = k;
  p.tile_m = T::kBlockM;
  p.tile_n = T::kBlockN;
  p.tile_k = T::template kDepth<In>;
  p.warps = T::kWarps;
  p.resident = resident;
  p.stall_pattern = stall_pattern;
  p.input_bytes = sizeof(In);
  p.output_bytes = sizeof(Out);
  return p;
}

/// Tensor cores multiply whole tiles, whatever of them lies inside.
inline double tile_operations(const TiledProduct& p) {
  return 2 * p.row_tiles() * static_cast<double>(p.tile_m) * p.column_tiles() *
         static_cast<double>(p.tile_n) * p.slices() * static_cast<double>(p.tile_k);
}

// ---- tiles: TileWalk's units

/// Whether every other row of so many 2-byte elements is off the words of 4 bytes.
inline bool has_halves(std::int64_t row_elements, std::int64_t element_bytes) {
  return element_bytes == 2 && row_elements % 2 != 0;
}

/// What a warp covers of a tile whose rows are so many bytes long, a unit per lane.
inline RowPieces unit_piece(const TiledProduct& p, std::int64_t row_bytes, int unit_bytes) {
  const std::int64_t bytes = std::int64_t{kLanes} * unit_bytes;
  return {std::min(row_bytes, bytes) / p.input_bytes, std::max<std::int64_t>(1, bytes / row_bytes)};
}

/// Loads of rows of which every other one is loaded in halves: those lanes come twice.
inline Accesses with_halves(const Accesses& rows, const RowPieces& piece, std::int64_t pitch) {
  constexpr double kRequestsPerRow = 1.5;
  constexpr std::int64_t kHalf = 2;
  return kRequestsPerRow * rows.requests * rows_access(1, (piece.elements - 1) * kHalf, pitch);
}

/// Loads that fill the tiles of A and B, over the whole grid.
template <class T>
Accesses tile_loads(const TiledProduct& p, int unit_bytes) {
  const RowPieces a = unit_piece(p, T::kDepthBytes, unit_bytes);
  const RowPieces b = unit_piece(p, p.tile_n * p.input_bytes, unit_bytes);
  const RowPieces one_of_a{a.elements, 1};
  const RowPieces one_of_b{b.elements, 1};
  return (has_halves(p.k, p.input_bytes)
              ? with_halves(a_rows(p, one_of_a), one_of_a, p.a_pitch_bytes())
              : a_rows(p, a)) +
         (has_halves(p.n, p.input_bytes)
              ? with_halves(b_rows(p, one_of_b), one_of_b, p.b_pitch_bytes())
              : b_rows(p, b));
}

/// Stores of one warp that fill its part of a tile through registers.
template <class Tile>
Accesses unit_stores(int warps, int unit_bytes) {
  const int units_per_row = Tile::kRowBytes / unit_bytes;
  const double requests = 1.0 * Tile::kRows * units_per_row / (warps * kLanes);
  return requests * shared_access(unit_bytes, [=](int lane) {
           return Tile::offset(lane / units_per_row, lane % units_per_row * unit_bytes);
         });
}

// ---- fragments

/// ldmatrix of four 8×16-byte blocks: lanes 0 to 15 name rows of the left ones, 16 to 31 of the
/// right ones.
template <class Tile>
Accesses matrix_load() {
  return shared_access(16, [](int lane) { return Tile::offset(lane % 16, lane / 16 * 16); });
}

/// A word per lane: of kDown (4 or 8) rows by 32 / kDown words. As fragments have them, lanes that
/// are neighbours go down the rows where these are 4, along them where they are 8.
template <class Tile, int kDown>
Accesses word_load() {
  return shared_access(4, [](int lane) {
    return kDown == 4 ? Tile::offset(lane % 4, lane / 4 * 4) : Tile::offset(lane / 4, lane % 4 * 4);
  });
}

/// WarpProduct::load of all steps of a tile, by one warp.
template <class In, class T>
Accesses fragment_loads() {
  using Product = WarpProduct<In, float, T>;
  constexpr double kRowTiles = T::kWarpM / 16;
  constexpr double kColTiles = T::kWarpN / 8;
  const Accesses a = kRowTiles * matrix_load<typename Product::A>();
  const Accesses b = sizeof(In) == 4 ? 2 * kColTiles * word_load<typename Product::B, 4>()
                                     : kColTiles / 2 * matrix_load<typename Product::B>();
  return T::kSteps * (a + b);
}

// ---- sums

/// What a warp's sums cost on their way to C, over the whole grid.
struct SumsTraffic {
  Accesses shared_store;
  Accesses shared_load;
  Accesses global_store;
};

/// By way of Slab<Acc, T::kWarpN> and store_slab<T::kWarpN, kStoreBytes>; C has rows of
/// `row_elements` elements of Out. Where they are stored kStoreBytes at a time, the compiler makes
/// stores of 4 bytes of each (`stores_per_pack` instructions on average).
template <class T, class Acc, class Out, int kStoreBytes = 16>
SumsTraffic sums_traffic(const TiledProduct& p, std::int64_t row_elements,
                         double stores_per_pack = kStoreBytes / 4.0) {
  using S = Slab<Acc, T::kWarpN>;
  constexpr int kAcc = sizeof(Acc);
  constexpr int kVector = kStoreBytes / static_cast<int>(sizeof(Out));
  constexpr double kPairsOfSums = T::kWarpM * T::kWarpN / (2.0 * kLanes);
  const bool vectors = row_elements % kVector == 0;
  const int elements = vectors ? kVector : 1;
  const int part = std::min(elements, 16 / kAcc);
  const double iterations = p.all_warps() * T::kWarpM * T::kWarpN / (1.0 * kLanes * elements);
  SumsTraffic t;
  t.shared_store = p.all_warps() * kPairsOfSums * shared_access(2 * kAcc, [](int lane) {
                     return (lane / 4 * S::kPitch + lane % 4 * 2) * kAcc;
                   });
  t.shared_load =
      iterations * elements / part * shared_access(std::max(4, part * kAcc), [=](int lane) {
        const int i = lane * elements;
        return (i / T::kWarpN * S::kPitch + i % T::kWarpN) * kAcc;
      });
  const int covered = kLanes * elements;
  const std::int64_t row_bytes =
      std::min(T::kWarpN, covered) * static_cast<std::int64_t>(sizeof(Out));
  t.global_store = inside(iterations * p.rows_inside() * (vectors ? stores_per_pack : 1) *
                              rows_access(std::max(1, covered / T::kWarpN), row_bytes,
                                          row_elements * static_cast<std::int64_t>(sizeof(Out))),
                          p.columns_inside());
  return t;
}

// ---- kernels

/// What all of them take of the sums, and the tensor cores.
inline void add_sums(Traffic& t, const TiledProduct& p, const SumsTraffic& sums) {
  t.shared_load = t.shared_load + sums.shared_load;
  t.shared_store = t.shared_store + sums.shared_store;
  t.global_store = sums.global_store;
  t.tensor_operations = tile_operations(p);
}

/// Of mma_pipeline: tiles arrive by cp.async before they are needed, fragments a step before, so
/// warps wait for the first tile and then at barriers alone; these hold no warp back that has read
/// its last fragments, so warps hide each other's waits. cp.async of 16 bytes goes past L1: the
/// data stage takes about one wavefront for each (H200), and what it writes to shared memory is not
/// counted among shared accesses.
template <class P, class In>
Traffic pipeline_traffic(const TiledProduct& p, int unit_bytes, const WarpCode& code,
                         const SumsTraffic& sums, const DeviceSpec& device) {
  Traffic t = product_traffic(p, code, device);
  t.global_load = by_cp_async(tile_loads<P>(p, unit_bytes));
  if (unit_bytes == 16) t.global_load.wavefronts = t.global_load.requests;
  t.shared_load = p.all_warps() * (p.slices() + 1.0 / P::kSteps) * fragment_loads<In, P>();
  // Halves come through registers: half the lanes of all warps store them for A, all lanes of half
  // the warps for B.
  const double of_a = has_halves(p.k, p.input_bytes) ? 1.0 : 0;
  const double of_b = has_halves(p.n, p.input_bytes) ? 0.5 : 0;
  const double units = P::kStageBytes / (2.0 * unit_bytes * P::kThreads);  // if both are as large
  t.shared_store = p.all_warps() * p.slices() * units * (of_a + of_b) * shared_access(4);
  add_sums(t, p, sums);
  add_round_trips(t, 1);
  t.chain.barriers = p.slices();
  return t;
}

}  // namespace gpuexp
