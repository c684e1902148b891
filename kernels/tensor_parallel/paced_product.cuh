// A part's product by blocks that stay and have a warp that sends: it carries a tile's results to
// all GPUs while the others multiply the next one.
#pragma once

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/tensor_parallel/tile_product.cuh"

namespace gpuexp::tensor_parallel {

using PacedTiles = BesideOthers<LargeTiles>;
constexpr int kWarpgroup = 128;
constexpr int kPacedThreads = PacedTiles::kThreads + kWarpgroup;
constexpr int kHandingThreads = PacedTiles::kThreads + 32;
// Three warpgroups start with 168 registers per thread, the most that an SM has for them.
constexpr int kSendingRegisters = 24;
constexpr int kMultiplyingRegisters = (3 * 168 - kSendingRegisters) / 2;
constexpr int kStagedBytes = PacedTiles::kBlockM * PacedTiles::kBlockN * int{sizeof(T)};

/// Of the part's tiles each block takes every gridDim.x-th.
struct PacedTilesOfPart {
  unsigned rows;     // of tiles
  unsigned columns;  // likewise
  int clocks_per_row;

  __device__ unsigned count() const { return rows * columns; }
  __device__ bool is_last(unsigned tile) const { return tile + gridDim.x >= count(); }
  __device__ Corner corner(unsigned tile) const {
    return corner_of<PacedTiles>(grouped_tile<kGroupRows>(tile, rows, columns));
  }
};

/// Named barriers (PTX ISA, barrier) of those who multiply and of the warp that sends.
enum Handing : int { kStaged = 2, kSent = 3 };
template <Handing kBarrier>
__device__ void hand_over() {
  asm volatile("bar.arrive %0, %1;" ::"n"(int{kBarrier}), "n"(kHandingThreads) : "memory");
}
template <Handing kBarrier>
__device__ void receive() {
  asm volatile("bar.sync %0, %1;" ::"n"(int{kBarrier}), "n"(kHandingThreads) : "memory");
}

// By one warp, whose lanes have a row each. A GPU's links take less than its SMs send, and what
// they have no room for holds back the loads of the SMs that send, as if both left by one queue
// (docs/lessons/tensor_parallel.md). So a tile's rows leave one by one, and all SMs together send
// less than the links take. Nothing is behind the last tile, and a block that waits for its tile to
// be gone has no loads to hold back.
__device__ inline void send_tile(const T* staged, const Corner& at, const Operands& x,
                                 const Targets& targets, int clocks_per_row, Barrier* hurry,
                                 unsigned parity) {
  using P = PacedTiles;
  constexpr unsigned kAllLanes = 0xffffffff;
  const auto rows = static_cast<int>(min(x.rows - at.row, static_cast<std::int64_t>(P::kBlockM)));
  const auto bytes = static_cast<unsigned>(
      min(x.columns - at.col, static_cast<std::int64_t>(P::kBlockN)) * sizeof(T));
  const auto now = [] { return static_cast<unsigned>(clock()); };
  const unsigned begun = now();
  for (int row = static_cast<int>(threadIdx.x % 32); __any_sync(kAllLanes, row < rows);) {
    if (row >= rows) continue;
    if (now() - begun < static_cast<unsigned>(row * clocks_per_row) && !has_ended(hurry, parity)) {
      __nanosleep(40);
      continue;
    }
    const auto [first, end] = targets.of_row(at.row + row);
#pragma unroll 1
    for (int r = first; r < end; ++r)
      start_bulk_store(targets.c.of[r] + (at.row + row) * targets.pitch + at.col,
                       staged + row * P::kBlockN, bytes);
    row += 32;
  }
  wait_for_stores_to_read<0>();
  __syncwarp();
}

__device__ inline void send_tiles(const PacedTilesOfPart& tiles, const T* staged, const Operands& x,
                                  const Targets& targets, Barrier* hurry) {
  unsigned parity = 0;
  for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
    receive<kStaged>();
    const bool is_last = tiles.is_last(tile);
    send_tile(staged, tiles.corner(tile), x, targets, is_last ? 0 : tiles.clocks_per_row, hurry,
              parity);
    if (!is_last) hand_over<kSent>();
    parity ^= 1;
  }
  wait_for_stores();
}

__device__ inline void multiply_tiles(const PacedTilesOfPart& tiles, char* shared, T* staged,
                                      const Operands& x, Barrier* hurry) {
  using P = PacedTiles;
  using S = Slab<float, P::kWarpN>;
  constexpr int kPack = 16 / sizeof(T);
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
    const auto stage = [&](const float* slab, const Corner& at) {
      if (at.row == P::warp_row() && tile != blockIdx.x) {
        if (threadIdx.x == 0) expect_bytes(hurry, 0);
        receive<kSent>();
      }
#pragma unroll
      for (int i = lane * kPack; i < S::kRows * P::kWarpN; i += 32 * kPack)
        store_pack(staged + (at.row + i / P::kWarpN) * P::kBlockN + at.col + i % P::kWarpN,
                   rounded_sums<T, kPack>(slab + i / P::kWarpN * S::kPitch + i % P::kWarpN));
    };
    multiply_tile<P, 16>(shared, tiles.corner(tile), x, Corner{0, 0}, stage);
    publish_to_copies();
    hand_over<kStaged>();
    P::wait_for_all();  // slabs lie where the next tile arrives
  }
}

// One warp sends, with the few registers that it needs; the rest of its warpgroup ends.
__global__ void __launch_bounds__(kPacedThreads, 1)
    paced_product_kernel(PacedTilesOfPart tiles, Operands x, Targets targets) {
  using P = PacedTiles;
  extern __shared__ __align__(128) char shared[];
  __shared__ Barrier hurry;
  T* const staged = reinterpret_cast<T*>(shared + P::kSharedBytes);
  if (threadIdx.x == 0) init_barriers(&hurry, 1);
  __syncthreads();
  if (threadIdx.x >= P::kThreads) {
    keep_registers<kSendingRegisters>();
    if (threadIdx.x < kHandingThreads) send_tiles(tiles, staged, x, targets, &hurry);
  } else {
    take_registers<kMultiplyingRegisters>();
    multiply_tiles(tiles, shared, staged, x, &hurry);
  }
}

// ---- its launch

/// The clocks in which the links take a row of a tile from each of so many SMs. The SMs' stores get
/// some four fifths of the links' own rate (peer_copy); at three quarters of that nothing waits.
inline int clocks_per_row(const Targets& targets, const DeviceSpec& device, std::int64_t blocks) {
  constexpr double kShare = 0.6;
  constexpr double kMega = 1e6;
  const double rate = kShare * device.machine.link_bytes_per_s;
  const int peers = targets.by_rows ? 1 : targets.count - 1;
  const double bytes = static_cast<double>(kBytes * PacedTiles::kBlockN * peers * blocks);
  return rate > 0 ? static_cast<int>(bytes / rate * device.sm_clock_max_mhz * kMega) : 0;
}

/// Of the part's results, what blocks send behind all that they multiply.
inline double last_share(const Part& part, const DeviceSpec& device) {
  const std::int64_t tiles = ceil_div(part.rows.size(), PacedTiles::kBlockM) *
                             ceil_div(part.columns.size(), PacedTiles::kBlockN);
  const std::int64_t last = std::min<std::int64_t>(tiles, device.sm_count);
  return tiles == 0 ? 0 : static_cast<double>(last) / static_cast<double>(tiles);
}

inline Steps paced_product(const Problem& p, const Operands& x, const Targets& targets,
                           const DeviceSpec& device) {
  using P = PacedTiles;
  PacedTilesOfPart tiles{static_cast<unsigned>(ceil_div(x.rows, P::kBlockM)),
                         static_cast<unsigned>(ceil_div(x.columns, P::kBlockN)), 0};
  const std::int64_t count = std::int64_t{tiles.rows} * tiles.columns;
  Shape shape;
  shape.block = {kPacedThreads, 1, 1};
  shape.grid = {std::clamp<std::int64_t>(count, 1, device.sm_count), 1, 1};
  shape.tile = {ceil_div(p.m, shape.grid.x), p.n, 1};
  shape.dynamic_shared_bytes = P::kSharedBytes + kStagedBytes;
  tiles.clocks_per_row = clocks_per_row(targets, device, shape.grid.x);
  return launch(paced_product_kernel, shape, tiles, x, targets);
}

}  // namespace gpuexp::tensor_parallel
